/**
 * Runs a folder of flambeau's save_program without Python, on executor.js:
 *
 *   import { load } from "./index.js"; // this file, as `flambeau export` names it
 *   const model = await load(); // the folder it lies in, or load(url)
 *   const { data, shape } = await model.run({ x }); // x: a typed array, or {data, shape}
 *
 * An ExecutorError's name is LoadError (a file), InputError (what run was given), IndexError (an index that is out of
 * range), Disposed, or one of executor.js.
 */

import { COPY, DROP, ExecutorError, FAULT_BYTES, FORGET, FREE, PARAMS, STORAGE, UNIFORM, dispatch, open } from "./executor.js";

export { ExecutorError, open };

const FORMAT = "flambeau-program", VERSION = 3;
const MARK = /^\/\/~ kernel .*\n/m; // begins each kernel of kernels.wgsl
const PARAMS_ALIGN = 64, PARAMS_WINDOW = 1024; // words between two dispatches' Params; bytes that a kernel sees
const SIZES_KEPT = 4, BLOCK = 256; // batch sizes whose buffers are kept; bytes that a buffer's size is a multiple of

const ARRAYS = { // what holds the elements of a dtype; 16-bit floats are their bits, bools 0 and 1
  f32: Float32Array, i32: Int32Array, u32: Uint32Array, bool: Uint8Array, i8: Int8Array, u8: Uint8Array,
  f16: Uint16Array, bf16: Uint16Array, i16: Int16Array, u16: Uint16Array, i64: BigInt64Array, u64: BigUint64Array,
};
const STORED = {
  F32: "f32", I32: "i32", U32: "u32", BOOL: "bool", I8: "i8", U8: "u8", I16: "i16", U16: "u16", F16: "f16", BF16: "bf16",
  I64: "i64", U64: "u64",
};
const ADVICE = {
  DeviceLost: (told) => `the GPU was lost (${told}): load the program again`,
  OutOfMemory: (told) => `out of memory (${told}): use a smaller batch`,
};

/**
 * Open the GPU (or take `executor`, another program's) and read a folder; onprogress(ready, all): kernels. files: by
 * name the bytes of those of its files that are there already, ArrayBuffers.
 */
export async function load(url = new URL(".", import.meta.url), { executor, onprogress, files = {} } = {}) {
  const base = new URL(url, globalThis.location?.href ?? import.meta.url);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  const used = executor ?? await open(); // first: who can't run it need not download it
  if (onprogress) used.onprogress = onprogress;
  try {
    const names = ["program.json", "kernels.wgsl", "weights.safetensors"];
    const [program, kernels, weights] = await Promise.all(names.map((name) => files[name] ?? fetched(base, name)));
    return new Program(used, described(program), texts(kernels), tensors(weights), !executor);
  } catch (error) {
    if (!executor) used.device.destroy();
    if (error instanceof ExecutorError) throw error;
    fail("LoadError", `program.json is damaged (${error.message}): save the program again`);
  }
}

function fail(name, message) {
  throw new ExecutorError(name, message);
}

// --- files ---

async function fetched(base, name) {
  const response = await fetch(new URL(name, base)).catch((error) => ({ status: error.message }));
  if (response.ok)
    return response.arrayBuffer().catch((error) => fail("LoadError", `${name} breaks off (${error.message}): load it again`));
  fail("LoadError", `${name} can't be had from ${base} (${response.status}): name a folder of save_program, whole`);
}

const text = (bytes) => new TextDecoder().decode(bytes);

function described(bytes) {
  let program;
  try {
    program = JSON.parse(text(bytes));
  } catch (error) {
    fail("LoadError", `program.json is no JSON (${error.message}): save the program again`);
  }
  if (program?.format !== FORMAT)
    fail("LoadError", "program.json is of something else: name a folder of save_program");
  if (program.version !== VERSION)
    fail("LoadError", `program.json is of version ${program.version} of the format, and this module reads ${VERSION}:` +
      " export the program again, with its module");
  return program;
}

function texts(bytes) {
  return text(bytes).split(MARK).slice(1);
}

/** The tensors of a .safetensors file by name: {dtype, shape, data}, data as bytes. */
function tensors(buffer) {
  const found = new Map();
  try {
    const length = Number(new DataView(buffer).getBigUint64(0, true)), start = 8 + length;
    const header = JSON.parse(text(new Uint8Array(buffer, 8, length)));
    delete header.__metadata__;
    const places = ([, { data_offsets: [from, to] }]) => from + to; // in order, as they follow each other
    const entries = Object.entries(header).sort((a, b) => places(a) - places(b));
    let at = 0;
    for (const [name, { dtype, shape, data_offsets: [from, to] }] of entries) {
      const ours = STORED[dtype], data = new Uint8Array(buffer, start + from, to - from);
      const bytes = ours === "bool" ? product(shape) : ours && bytesOf(ours, product(shape));
      if (from !== at || !shape.every(Number.isInteger) || (ours && data.length !== bytes)) throw at;
      found.set(name, { dtype: ours ?? String(dtype), shape, data });
      at = to;
    }
    if (start + at !== buffer.byteLength) throw at;
  } catch {
    fail("LoadError", "weights.safetensors is cut short or no .safetensors file: get a whole copy");
  }
  return found;
}

// --- numbers ---

/** An expression of save_program at batch size n; src/flambeau/export/fit.py says what they are. */
function valueOf(expression, n) {
  if (typeof expression === "number") return expression;
  if (!Array.isArray(expression)) return expression[n];
  const [a, b, c, m] = expression;
  return c ? Math.floor((a * n + b) / c) * m : a * n + b;
}

const product = (shape) => shape.reduce((a, b) => a * b, 1);
const bytesOf = (dtype, count) => (dtype === "bool" ? 4 : ARRAYS[dtype].BYTES_PER_ELEMENT) * count;
const shown = (dtype, shape) => `${dtype}[${shape.join(", ")}]`;

/** Elements as the bytes that a buffer holds. */
function stored(dtype, data) {
  if (dtype === "bool") data = Uint32Array.from(data, (v) => (v ? 1 : 0));
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** A buffer's bytes as elements. */
function elements(dtype, bytes, at, count) {
  if (dtype === "bool") return Uint8Array.from(new Uint32Array(bytes.buffer, bytes.byteOffset + at, count));
  const begin = bytes.byteOffset + at;
  if (begin % ARRAYS[dtype].BYTES_PER_ELEMENT) return new ARRAYS[dtype](bytes.slice(at, at + bytesOf(dtype, count)).buffer);
  return new ARRAYS[dtype](bytes.buffer, begin, count);
}

class Program {
  constructor(executor, program, kernels, weights, owns) {
    if (kernels.length !== program.kernels.length)
      fail("LoadError", `program.json has ${program.kernels.length} kernels, kernels.wgsl ${kernels.length}:` +
        " the files are not of one program");
    this.executor = executor;
    this.adapter = executor.name;
    this.inputs = program.inputs; // [{name, dtype, shape}], "N" in a shape is the batch
    this.outputs = program.outputs; // [{name, dtype}]
    this.batch = program.batch; // [least, most]
    this.program = program;
    this.plans = program.plans[executor.software ? "software" : "gpu"];
    this.kernels = kernels;
    this.pipelines = new Map(); // kernel -> number of its pipeline
    this.ready = new Map(); // batch size -> Ready
    this.owns = owns;
    this.disposed = false;
    this.key = [0, 0];
    this.drawn = 0; // blocks of random numbers that are used up
    this.weights = this.upload(weights);
  }

  upload(found) {
    const wrong = [];
    for (const { name, dtype, shape } of this.program.weights) {
      const has = found.get(name), wanted = shown(dtype, shape);
      if (!has || shown(has.dtype, has.shape) !== wanted)
        wrong.push(`'${name}' is ${has ? shown(has.dtype, has.shape) : "missing"}, not ${wanted}`);
    }
    if (wrong.length) fail("LoadError", `weights.safetensors is of another model: ${wrong.join("; ")}`);
    const sizes = this.program.weights.map(({ dtype, shape }) => bytesOf(dtype, product(shape)));
    sizes.forEach((bytes) => this.fits(bytes)); // or those before it would be left behind
    return this.program.weights.map(({ name, dtype }, i) => {
      const handle = this.alloc(sizes[i]), { data } = found.get(name);
      if (data.length) this.executor.write(handle, dtype === "bool" ? stored(dtype, data) : data);
      return handle;
    });
  }

  fits(bytes) {
    const most = this.executor.maxBinding;
    if (bytes > most) fail("OutOfMemory", `a tensor of ${bytes} bytes, and ${this.adapter} takes ${most} at most`);
  }

  alloc(bytes) {
    this.fits(bytes);
    const size = Math.max(Math.ceil(bytes / BLOCK), 1) * BLOCK;
    return this.executor.alloc(Math.min(size, this.executor.maxBinding), STORAGE);
  }

  pipeline(kernel, inputs, outputs) {
    let found = this.pipelines.get(kernel);
    if (found === undefined) {
      const { name } = this.program.kernels[kernel];
      this.pipelines.set(kernel, (found = this.executor.pipeline(this.kernels[kernel], name, inputs, outputs)));
    }
    return found;
  }

  // --- running ---

  /** What the program makes of its inputs: a typed array for each, or {data, shape}. */
  async run(inputs) {
    try {
      this.check();
      const { n, bytes } = this.given(inputs), ready = this.readyFor(n), { executor } = this;
      bytes.forEach((data, i) => data.length && executor.write(ready.inputs[i], data));
      if (ready.draws.length) ready.draw(this);
      const { faults } = ready, noted = faults ? [faults, FAULT_BYTES] : [];
      executor.replay(ready.prepared);
      const read = await executor.read(Uint32Array.of(...ready.reads, ...noted));
      if (faults) this.checkFaults(new Uint32Array(read.slice(-FAULT_BYTES).buffer));
      return this.result(ready, read);
    } catch (error) {
      throw told(error);
    }
  }

  /** Compile and allocate what a batch size needs, so that its first run does not wait for that. */
  async prepare(n = this.batch[0]) {
    try {
      this.check();
      this.readyFor(this.inRange(n));
      await this.executor.wait();
    } catch (error) {
      throw told(error);
    }
  }

  /** Begin the random numbers anew, as flambeau.manual_seed does; without it the seed is 0. */
  seed(seed) {
    const wide = BigInt.asUintN(64, BigInt(seed));
    this.key = [Number(wide & 0xffffffffn), Number(wide >> 32n)];
    this.drawn = 0;
  }

  /** Give the GPU's memory back, and the GPU itself unless `load` was given it. */
  dispose() {
    if (this.disposed) return;
    this.disposed = true;
    if (this.executor.lost === null)
      if (this.owns) this.executor.device.destroy();
      else {
        for (const ready of this.ready.values()) ready.free();
        const ends = [...this.weights.map((handle) => [FREE, handle]), ...[...this.pipelines.values()].map((n) => [DROP, n])];
        this.executor.submit(Uint32Array.from(ends.flat()));
      }
    this.ready.clear();
    this.pipelines.clear();
  }

  check() {
    if (this.disposed) fail("Disposed", "this program was disposed: load it again");
    if (this.executor.lost !== null) fail("DeviceLost", this.executor.lost);
  }

  /** Throw where an index or a class of the run was out of range. */
  checkFaults([found, low, high, size]) {
    const kind = found >>> 16, site = found & 0xffff; // as executor.faults has them
    if (!kind) return;
    const told = this.program.faults?.[site] ?? "run: index {index} is out of range for a size of {size}";
    const index = (kind === 1 ? BigInt.asIntN : BigInt.asUintN)(64, (BigInt(high) << 32n) | BigInt(low));
    fail("IndexError", `${told.replace("{index}", index).replace("{size}", size)}: give indices that are inside`);
  }

  readyFor(n) {
    let ready = this.ready.get(n);
    if (ready) this.ready.delete(n);
    else ready = this.made(n);
    this.ready.set(n, ready); // the last is the youngest
    if (this.ready.size > SIZES_KEPT) {
      const [oldest, dropped] = this.ready.entries().next().value;
      dropped.free();
      this.ready.delete(oldest);
    }
    return ready;
  }

  made(n) {
    const ready = new Ready(this);
    try {
      ready.fill(this, n);
      return ready;
    } catch (error) {
      ready.free();
      if (error instanceof ExecutorError) throw error;
      fail("LoadError", `program.json is damaged (${error.message}): save the program again`);
    }
  }

  // --- what comes in and goes out ---

  /** The batch size and each input's bytes. */
  given(inputs) {
    const told = this.inputs.map(({ name, dtype, shape }) => `${name}: ${shown(dtype, shape)}`);
    const wanted = `it takes {${told.join(", ")}}`;
    const names = inputs && typeof inputs === "object" && !ArrayBuffer.isView(inputs) ? Object.keys(inputs) : null;
    if (!names) fail("InputError", `run: inputs come by name: ${wanted}`);
    const strange = names.find((name) => !this.inputs.some((input) => input.name === name));
    if (strange !== undefined) fail("InputError", `run: no input '${strange}': ${wanted}`);
    let n = null;
    const bytes = this.inputs.map((spec) => {
      if (!(spec.name in inputs)) fail("InputError", `run: no '${spec.name}': ${wanted}`);
      const { data, shape } = elementsOf(spec, inputs[spec.name], n), at = spec.shape.indexOf("N");
      if (at >= 0) n ??= shape[at];
      const fixed = spec.shape.map((size) => (size === "N" ? n : size)).join();
      if (shape.join() !== fixed)
        fail("InputError", `run: ${spec.name} is ${shown(spec.dtype, shape)}, not ${shown(spec.dtype, spec.shape)}` +
          (at >= 0 && spec.shape.length === shape.length ? ` with N = ${n}` : ""));
      return stored(spec.dtype, data);
    });
    return { n: this.inRange(n ?? 1), bytes };
  }

  inRange(n) {
    const [low, high] = this.batch;
    if (Number.isInteger(n) && n >= low && n <= high) return n;
    const advice = n > high ? `split it, or export again with max_batch=${n}` : "it takes at least 1";
    fail("InputError", `run: a batch of ${n}, and the program was saved for ${low} to ${high}: ${advice}`);
  }

  result(ready, bytes) {
    let at = 0;
    const values = ready.outputs.map(({ shape, bytes: length }, i) => {
      const { dtype } = this.outputs[i], data = elements(dtype, bytes, at, product(shape));
      at += (length + 3) & ~3;
      return { data, shape, dtype };
    });
    if (this.program.result === "tensor") return values[0];
    if (this.program.result === "list") return values;
    return Object.fromEntries(values.map((value, i) => [this.outputs[i].name, value]));
  }
}

/** An input as {data, shape}; where only the batch is open, the shape follows from the length. */
function elementsOf({ name, dtype, shape }, value, n) {
  const array = ARRAYS[dtype], data = ArrayBuffer.isView(value) ? value : value?.data;
  const rest = product(shape.filter((size) => size !== "N"));
  if (!(data instanceof array))
    fail("InputError", `run: ${name} is ${(data ?? value)?.constructor?.name ?? value}: ${dtype} comes as` +
      ` ${array.name}, or as {data, shape} with one`);
  const count = n ?? Math.floor(data.length / (rest || 1));
  const whole = [...((data !== value && value.shape) || shape.map((size) => (size === "N" ? count : size)))];
  if (product(whole) !== data.length)
    fail("InputError", `run: ${name} has ${data.length} elements, and ${shown(dtype, whole)} has ${product(whole)}`);
  return { data, shape: whole };
}

function told(error) {
  return ADVICE[error.name] ? new ExecutorError(error.name, ADVICE[error.name](error.message)) : error;
}

/** A program at one batch size: its buffers, and its commands in the executor. */
class Ready {
  constructor({ executor }) {
    this.executor = executor;
    this.own = []; // buffers to free
    this.draws = []; // [word of params, draw, word of the draw]
    this.prepared = 0;
  }

  fill(program, n) {
    const { executor } = program;
    const plan = program.plans.plans[program.plans.plan_of[n - program.batch[0]]];
    this.begins = plan.draws.map((e) => valueOf(e, n));
    this.length = valueOf(plan.drawn, n);
    const values = new Map(program.weights.map((handle, i) => [`w${i}`, handle]));
    this.inputs = program.inputs.map(({ dtype, shape }, i) => {
      const handle = this.alloc(program, bytesOf(dtype, product(shape.map((size) => (size === "N" ? n : size)))));
      values.set(`x${i}`, handle);
      return handle;
    });
    const words = this.commands(program, plan, n, values);
    this.outputs = plan.outputs.map(({ value, shape }, i) => {
      const sizes = shape.map((e) => valueOf(e, n));
      return { handle: values.get(value), shape: sizes, bytes: bytesOf(program.outputs[i].dtype, product(sizes)) };
    });
    this.reads = Uint32Array.from(this.outputs.flatMap(({ handle, bytes }) => [handle, bytes]));
    this.prepared = executor.prepare(words);
  }

  alloc(program, bytes) {
    const handle = program.alloc(bytes);
    this.own.push(handle);
    return handle;
  }

  /** The kernels as commands, those of the setup run now; temporaries share buffers where they can. */
  commands(program, plan, n, values) {
    const setup = [], words = [], params = [], slots = [], free = [], sizes = new Map(), last = new Map();
    const steps = [...plan.setup, ...plan.steps];
    steps.forEach(({ reads }, i) => reads.forEach((value) => last.set(value, i)));
    for (const { value } of plan.outputs) last.delete(value);
    for (const { writes } of plan.setup) for (const value of writes) last.delete(value);
    steps.forEach(({ kernel, reads, writes, grid, params: given }, i) => {
      const offset = 4 * params.length;
      for (const e of given) {
        if (e.draw !== undefined) this.draws.push([params.length, e.draw, e.word]);
        params.push(e.draw === undefined ? valueOf(e, n) >>> 0 : 0);
      }
      while (params.length % PARAMS_ALIGN) params.push(0);
      for (const value of writes) {
        if (values.has(value)) continue;
        const bytes = valueOf(plan.temporaries[Number(value.slice(1))], n);
        const at = free.findIndex((handle) => sizes.get(handle) >= bytes && sizes.get(handle) <= 2 * bytes);
        const handle = at < 0 ? this.alloc(program, bytes) : free.splice(at, 1)[0];
        if (at < 0) sizes.set(handle, bytes);
        values.set(value, handle);
      }
      const to = i < plan.setup.length ? setup : words;
      slots.push([to, to.length + PARAMS]);
      const pipeline = program.pipeline(kernel, reads.length, writes.length);
      const buffers = [...reads, ...writes].map((value) => values.get(value));
      to.push(...dispatch(pipeline, 0, offset, grid.map((e) => valueOf(e, n)), buffers));
      for (const value of new Set(reads))
        if (value[0] === "t" && last.get(value) === i) free.push(values.get(value));
    });
    if (slots.length) this.uniform(Uint32Array.from(params), slots);
    const faults = (this.faults = this.executor.faults);
    if (faults) { // a run begins with those of the setup, whose values are in it: what others noted is theirs
      const noted = this.alloc(program, FAULT_BYTES);
      this.executor.write(faults, new Uint8Array(FAULT_BYTES));
      setup.push(COPY, faults, noted, FAULT_BYTES);
      words.unshift(COPY, noted, faults, FAULT_BYTES);
    }
    this.executor.submit(Uint32Array.from(setup));
    return Uint32Array.from(words);
  }

  uniform(params, slots) {
    this.params = params;
    this.paramsAt = this.executor.alloc(params.byteLength + PARAMS_WINDOW, UNIFORM);
    this.own.push(this.paramsAt);
    for (const [to, place] of slots) to[place] = this.paramsAt;
    this.executor.write(this.paramsAt, new Uint8Array(params.buffer));
  }

  /** Take the run's part of the random stream. */
  draw(program) {
    for (const [place, draw, word] of this.draws) {
      const at = program.drawn + this.begins[draw];
      this.params[place] = [...program.key, at, Math.floor(at / 2 ** 32)][word];
    }
    program.drawn += this.length;
    this.executor.write(this.paramsAt, new Uint8Array(this.params.buffer));
  }

  free() {
    const words = [FORGET, this.prepared];
    for (const handle of this.own) words.push(FREE, handle);
    this.executor.submit(Uint32Array.from(words));
  }
}
