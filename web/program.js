// @ts-check
/**
 * Runs a folder of flambeau's save_program without Python, on executor.js:
 *
 *   import { load } from "./index.js"; // this file, as `flambeau export` names it
 *   const model = await load(); // the folder it lies in, or load(url), or load(files)
 *   const { data, shape } = await model.run({ x }); // x: numbers, pictures or a buffer of the GPU
 *
 * An ExecutorError's name is LoadError (a file), InputError (what load or run was given), IndexError (an index that is
 * out of range), Disposed, or one of executor.js. values.js is loaded with the first value that is no typed array.
 */

import {
  COPY, DROP, Executor, ExecutorError, FAULT_BYTES, FORGET, FREE, PARAMS, STORAGE, UNIFORM, dispatch, open,
} from "./executor.js";

export { ExecutorError, open };

const FORMAT = "flambeau-program", VERSION = 5;
const HERE = { // each in full: so bundlers see what they must take along
  "program.txt": new URL("./program.txt", import.meta.url),
  "kernels.wgsl": new URL("./kernels.wgsl", import.meta.url),
  "weights.safetensors": new URL("./weights.safetensors", import.meta.url),
};
const NAMES = Object.keys(HERE);
const MARK = /^\/\/~ kernel .*\n/m; // begins each kernel of kernels.wgsl
const PARAMS_ALIGN = 64, PARAMS_WINDOW = 1024; // words between two dispatches' Params; bytes that a kernel sees
const SIZES_KEPT = 4, BLOCK = 256; // batch sizes whose buffers are kept; bytes that a buffer's size is a multiple of

const ARRAYS = { // what holds the elements of a dtype; 16-bit floats are their bits, bools 0 and 1
  f32: Float32Array, i32: Int32Array, u32: Uint32Array, bool: Uint8Array, i8: Int8Array, u8: Uint8Array,
  f16: Uint16Array, bf16: Uint16Array, i16: Int16Array, u16: Uint16Array, i64: BigInt64Array, u64: BigUint64Array,
};
const ADVICE = {
  DeviceLost: (told) => `the GPU was lost (${told}): load the program again`,
  OutOfMemory: (told) => `out of memory (${told}): use a smaller batch`,
};

/**
 * Open the GPU (or take `executor`, another program's, or a GPUDevice as `device`) and read a program. source: the
 * folder's URL, or its files by name (bytes, Blobs or URLs) or as a list of Files. files: some by name, in place of the
 * source's. ondownload(bytes, all) is called as they come, onprogress(ready, all) as kernels compile.
 * @param {any} [source]
 * @param {{[option in "files" | "executor" | "device" | "signal" | "onprogress" | "ondownload"]?: any}} [options]
 */
export async function load(source = HERE, { files = {}, executor, device, signal, onprogress, ondownload } = {}) {
  signal?.throwIfAborted();
  if (executor && device) refuse("load: executor and device are given: give one, the program's GPU");
  const places = { ...placesOf(source), ...files };
  // before anything is fetched: a browser that can't run it need not download it
  const used = executor ?? (device ? new Executor(device) : await open()), owns = !executor && !device;
  if (onprogress) used.onprogress = onprogress;
  const ends = new AbortController(), abort = () => ends.abort(signal.reason), tell = counting(ondownload, ends);
  try {
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    const all = await Promise.all(NAMES.map((name) => received(name, places[name], ends.signal, tell)));
    return new Program(used, described(all[0]), texts(all[1]), tensors(all[2]), owns);
  } catch (error) {
    if (owns) used.device.destroy();
    ends.signal.throwIfAborted(); // the caller's own reason
    if (error instanceof ExecutorError) throw error;
    damaged(error);
  } finally {
    signal?.removeEventListener("abort", abort);
    ends.abort(); // where one file can't be had, the others need not come
  }
}

/** @type {(name: string, message: string) => never} */
function fail(name, message) {
  throw new ExecutorError(name, message);
}

const unloadable = (message) => fail("LoadError", message), refuse = (message) => fail("InputError", message);
/** @type {(error: Error) => never} */
const damaged = ({ message }) => unloadable(`program.txt is damaged (${message}): save the program again`);

// --- files ---

const kindOf = (value) => value?.constructor?.name ?? String(value);
/** @type {(value: any) => boolean} */
const isUrl = (value) => typeof value === "string" || value instanceof URL;
const absolute = (url) => new URL(url, globalThis.location?.href ?? import.meta.url);

/**
 * Where each file of a program is.
 * @param {any} source
 * @returns {Record<string, any>}
 */
function placesOf(source) {
  if (isUrl(source)) {
    const base = absolute(source);
    if (!base.pathname.endsWith("/")) base.pathname += "/";
    return Object.fromEntries(NAMES.map((name) => [name, new URL(name, base)]));
  }
  const found = source?.[Symbol.iterator] ? Object.fromEntries([...source].map((file) => [file.name, file])) : Object(source);
  const lacks = NAMES.find((name) => !found[name]), rule = `give the URL of a folder, or ${NAMES.join(", ")} by name or as Files`;
  if (lacks) refuse(`load: there is no ${lacks} in ${kindOf(source)} (${Object.keys(found).join(", ")}): ${rule}`);
  return found;
}

/** What hears of the bytes of each file: ondownload(those that came, those of all as far as hosts say); what it throws ends all. */
function counting(ondownload, ends) {
  const came = {}, sizes = {}, sum = (counts) => Object.values(counts).reduce((a, b) => a + b, 0);
  return ondownload && ((name, bytes, size) => {
    came[name] = (came[name] ?? 0) + bytes;
    sizes[name] = Math.max(size, came[name]); // a host that compresses announces fewer bytes than arrive
    try {
      ondownload(sum(came), sum(sizes));
    } catch (error) {
      ends.abort(error);
      throw error;
    }
  });
}

/**
 * The bytes of a file, from wherever they are.
 * @param {string} name
 * @param {any} from
 * @param {AbortSignal} signal
 * @param {((name: string, bytes: number, size: number) => void) | undefined} tell
 */
async function received(name, from, signal, tell) {
  if (from instanceof ArrayBuffer) return new Uint8Array(from);
  if (ArrayBuffer.isView(from)) return new Uint8Array(from.buffer, from.byteOffset, from.byteLength);
  if (!(isUrl(from) || from instanceof Blob))
    refuse(`load: ${name} is ${kindOf(from)}: give its bytes (ArrayBuffer or a typed array), a Blob or a URL`);
  const response = from instanceof Blob ? new Response(from) : await fetched(name, from, signal);
  const size = Number(response.headers.get("content-length")) || from.size || 0;
  const transform = (part, to) => (tell(name, part.length, size), to.enqueue(part));
  tell?.(name, 0, size);
  const counted = tell && response.body ? new Response(response.body.pipeThrough(new TransformStream({ transform }))) : response;
  const breaks = ({ message }) => unloadable(`${name} breaks off (${message}): load it again`);
  return new Uint8Array(await counted.arrayBuffer().catch(breaks));
}

async function fetched(name, from, signal) {
  const url = absolute(from), where = url.href.slice(0, 200);
  /** @type {any} */
  const response = await fetch(url, { signal }).catch((error) => ({ status: error.message }));
  if (!response.ok) unloadable(`${name} can't be had from ${where} (${response.status}): name a folder of save_program, whole`);
  if (/html/.test(response.headers.get("content-type")))
    unloadable(`${name} is a web page at ${where}, this server's answer for what it lacks: put the folder's files there`);
  return response;
}

const text = (bytes) => new TextDecoder().decode(bytes);

function described(bytes) {
  let program;
  try {
    program = JSON.parse(text(bytes));
  } catch (error) {
    unloadable(`program.txt is no JSON (${error.message}): save the program again`);
  }
  if (program?.format !== FORMAT)
    unloadable("program.txt is of something else: name a folder of save_program");
  if (program.version !== VERSION)
    unloadable(`program.txt is of version ${program.version} of the format, and this module reads ${VERSION}:` +
      " export the program again, with its module");
  return program;
}

function texts(bytes) {
  return text(bytes).split(MARK).slice(1);
}

/**
 * The tensors of a .safetensors file by name: {dtype, shape, data}, data as bytes.
 * @param {Uint8Array} file
 */
function tensors(file) {
  const found = new Map();
  try {
    const length = Number(new DataView(file.buffer, file.byteOffset, file.length).getBigUint64(0, true)), start = 8 + length;
    if (start > file.length) throw start;
    const header = JSON.parse(text(file.subarray(8, start)));
    delete header.__metadata__;
    const places = ([, { data_offsets: [from, to] }]) => from + to; // in order, as they follow each other
    const entries = Object.entries(header).sort((a, b) => places(a) - places(b));
    let at = 0;
    for (const [name, { dtype, shape, data_offsets: [from, to] }] of entries) {
      const ours = dtype.toLowerCase(), known = ours in ARRAYS, data = file.subarray(start + from, start + to);
      const bytes = ours === "bool" ? product(shape) : known && bytesOf(ours, product(shape));
      if (from !== at || data.length !== to - from || !shape.every(Number.isInteger) || (known && to - from !== bytes)) throw at;
      found.set(name, { dtype: known ? ours : dtype, shape, data });
      at = to;
    }
    if (start + at !== file.length) throw at;
  } catch {
    unloadable("weights.safetensors is cut short or no .safetensors file: get a whole copy");
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
const whole = (bytes) => (bytes + 3) & ~3; // bytes that a copy takes
const bytesOf = (dtype, count) => (dtype === "bool" ? 4 : ARRAYS[dtype].BYTES_PER_ELEMENT) * count;
const shown = (dtype, shape) => `${dtype}[${shape.join(", ")}]`;

/**
 * Elements as the bytes that a buffer holds.
 * @param {string} dtype
 * @param {any} data
 */
function stored(dtype, data) {
  if (dtype === "bool") data = Uint32Array.from(data, (v) => (v ? 1 : 0));
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * A buffer's bytes as elements.
 * @param {string} dtype
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} count
 */
function elements(dtype, bytes, at, count) {
  if (dtype === "bool") return Uint8Array.from(new Uint32Array(bytes.buffer, bytes.byteOffset + at, count));
  const begin = bytes.byteOffset + at;
  if (begin % ARRAYS[dtype].BYTES_PER_ELEMENT) return new ARRAYS[dtype](bytes.slice(at, at + bytesOf(dtype, count)).buffer);
  return new ARRAYS[dtype](bytes.buffer, begin, count);
}

class Program {
  /**
   * @param {Executor} executor
   * @param {any} program what program.txt holds
   * @param {string[]} kernels
   * @param {ReturnType<typeof tensors>} weights
   * @param {boolean} owns whether the GPU ends with it
   */
  constructor(executor, program, kernels, weights, owns) {
    if (kernels.length !== program.kernels.length)
      unloadable(`program.txt has ${program.kernels.length} kernels, kernels.wgsl ${kernels.length}:` +
        " the files are not of one program");
    // inputs: [{name, dtype, shape}], "N" in a shape is the batch; outputs: [{name, dtype}]; batch: [least, most]
    this.executor = executor;
    this.adapter = executor.name;
    this.inputs = program.inputs;
    this.outputs = program.outputs;
    this.batch = program.batch;
    this.program = program;
    this.kernels = kernels;
    this.owns = owns;
    this.disposed = false;
    this.plans = program.plans[executor.software ? "software" : "gpu"];
    this.batches = this.plans.plan_of.flatMap((plan, i) => (plan === null ? [] : program.batch[0] + i)); // the sizes that it takes
    this.pipelines = new Map(); // kernel -> number of its pipeline
    this.ready = new Map(); // batch size -> Ready
    this.seed(0);
    this.weights = this.upload(weights);
    this.states = program.state.map(({ dtype, shape }) => this.alloc(bytesOf(dtype, product(shape))));
    this.reset();
  }

  upload(found) {
    const wrong = [];
    for (const { name, dtype, shape } of this.program.weights) {
      const has = found.get(name), wanted = shown(dtype, shape);
      if (!has || shown(has.dtype, has.shape) !== wanted)
        wrong.push(`'${name}' is ${has ? shown(has.dtype, has.shape) : "missing"}, not ${wanted}`);
    }
    if (wrong.length) unloadable(`weights.safetensors is of another model: ${wrong.join("; ")}`);
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

  /** Set the state, which stays on the GPU from run to run, to what it was when the program was saved. */
  reset() {
    this.check();
    const { state } = this.program, sizes = state.map(({ dtype, shape }) => whole(bytesOf(dtype, product(shape))));
    const zeros = new Uint8Array(Math.max(0, ...sizes.filter((_, i) => state[i].start === null)));
    state.forEach(({ start }, i) => {
      if (!sizes[i]) return;
      if (start === null) this.executor.write(this.states[i], zeros.subarray(0, sizes[i]));
      else this.executor.submit(Uint32Array.of(COPY, this.weights[Number(start.slice(1))], this.states[i], sizes[i]));
    });
  }

  /** The state's present values by name, as `run` returns results. */
  async state() {
    try {
      this.check();
      const { state } = this.program, sizes = state.map(({ dtype, shape }) => bytesOf(dtype, product(shape)));
      const bytes = await this.executor.read(Uint32Array.from(this.states.flatMap((handle, i) => [handle, sizes[i]])));
      let at = 0;
      return Object.fromEntries(state.map(({ name, dtype, shape }, i) => {
        const data = elements(dtype, bytes, at, product(shape));
        at += whole(sizes[i]);
        return [name, { data, shape: [...shape], dtype }];
      }));
    } catch (error) {
      throw told(error);
    }
  }

  // --- running ---

  /**
   * What the program makes of its inputs; output: as "typed" arrays, each as a plain "array", or on the "gpu"; only: the
   * names of the results that are wanted, all without it.
   * values.js knows all but typed arrays: who gives and asks for those alone does not load it.
   */
  async run(inputs, { output = "typed", only = this.outputs.map(({ name }) => name) } = {}) {
    try {
      this.check();
      const isArray = (value, i) => (value?.data ?? value) instanceof ARRAYS[this.inputs[i].dtype], values = this.values(inputs);
      if (output === "typed" && values.every(isArray)) return this.result(await this.read(...this.given(values), only), only);
      const others = await import("./values.js").catch(({ message }) =>
        unloadable(`values.js can't be had (${message}): put it beside this module`));
      this.check();
      const all = values.map((value, i) => (isArray(value, i) ? value : others.converted(this.inputs[i], value, ARRAYS)));
      return this.result(await others.results(this, output, ...this.given(all), only), only);
    } catch (error) {
      throw told(error);
    }
  }

  /**
   * Submit a run; the faults that are to be read behind its results.
   * @param {Ready} ready
   * @param {any[]} given
   */
  submit(ready, given) {
    const { executor } = this, { faults } = ready;
    given.forEach((value, i) => {
      if (value instanceof Uint8Array) return value.length && executor.write(ready.inputs[i], value);
      const handle = executor.adopt(value.data);
      if (value.bytes) executor.submit(Uint32Array.of(COPY, handle, ready.inputs[i], value.bytes), true);
      executor.disown(handle);
    });
    if (ready.draws.length) ready.draw(this);
    executor.replay(ready.prepared);
    return faults ? [faults, FAULT_BYTES] : [];
  }

  /**
   * Run, and read the results of these names.
   * @param {number} n
   * @param {any[]} given
   * @param {string[]} only
   */
  async read(n, given, only) {
    const ready = this.readyFor(n), wanted = ready.wanted(only), noted = this.submit(ready, given);
    const bytes = await this.executor.read(Uint32Array.of(...wanted.flatMap(({ handle, bytes }) => [handle, bytes]), ...noted));
    this.checkFaults(bytes, noted);
    let at = 0;
    return wanted.map(({ dtype, shape, bytes: length }) => {
      const data = elements(dtype, bytes, at, product(shape));
      at += whole(length);
      return { data, shape, dtype };
    });
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
    this.drawn = 0; // blocks of random numbers that are used up
  }

  /** Give the GPU's memory back, and the GPU itself unless `load` was given it. */
  dispose() {
    if (this.disposed) return;
    this.disposed = true;
    if (this.executor.lost === null)
      if (this.owns) this.executor.device.destroy();
      else {
        for (const ready of this.ready.values()) ready.free();
        const ends = [...[...this.weights, ...this.states].map((handle) => [FREE, handle]), ...[...this.pipelines.values()].map((n) => [DROP, n])];
        this.executor.submit(Uint32Array.from(ends.flat()));
      }
    this.ready.clear();
    this.pipelines.clear();
  }

  check() {
    if (this.disposed) fail("Disposed", "this program was disposed: load it again");
    if (this.executor.lost !== null) fail("DeviceLost", this.executor.lost);
  }

  /** Throw where an index, a class or a value of the run was out of range. */
  checkFaults(bytes, noted) {
    if (!noted.length) return;
    const [found, low, high, size] = new Uint32Array(bytes.slice(-FAULT_BYTES).buffer);
    const kind = found >>> 16, site = found & 0xffff; // as executor.faults has them
    if (!kind) return;
    const told = this.program.faults?.[site] ?? "run: index {index} is out of range for a size of {size}";
    if (!told.includes("{index}")) fail("InputError", told.replace("{size}", size)); // of a value: it says what to do
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
      damaged(error);
    }
  }

  // --- what comes in and goes out ---

  /** What was given for each input. */
  values(inputs) {
    const wanted = `it takes {${this.inputs.map(({ name, dtype, shape }) => `${name}: ${shown(dtype, shape)}`).join(", ")}}`;
    if (!inputs || typeof inputs !== "object" || ArrayBuffer.isView(inputs)) refuse(`run: inputs come by name: ${wanted}`);
    const strange = Object.keys(inputs).find((name) => !this.inputs.some((input) => input.name === name));
    if (strange !== undefined) refuse(`run: no input '${strange}': ${wanted}`);
    return this.inputs.map(({ name }) => (name in inputs ? inputs[name] : refuse(`run: no '${name}': ${wanted}`)));
  }

  /**
   * The batch size and each input's bytes, or the GPUBuffer that has them.
   * @param {any[]} values
   * @returns {[number, any[]]}
   */
  given(values) {
    let n = null;
    const given = this.inputs.map((spec, i) => {
      const { data, shape } = elementsOf(spec, values[i], n), at = spec.shape.indexOf("N");
      if (at >= 0) n ??= shape[at];
      const fixed = spec.shape.map((size) => (size === "N" ? n : size)).join();
      if (shape.join() !== fixed)
        refuse(`run: ${spec.name} is ${shown(spec.dtype, shape)}, not ${shown(spec.dtype, spec.shape)}` +
          (at >= 0 && spec.shape.length === shape.length ? ` with N = ${n}` : ""));
      return data.mapState ? { data, bytes: whole(bytesOf(spec.dtype, product(shape))) } : stored(spec.dtype, data);
    });
    return [this.inRange(n ?? 1), given];
  }

  inRange(n) {
    const [low, high] = this.batch;
    if (this.batches.includes(n)) return n;
    if (n > low && n < high) refuse(`run: a batch of ${n}, and the program was saved for ${this.batches.join(", ")}: split it`);
    const advice = n > high ? `split it, or export again with max_batch=${n}` : "it takes at least 1";
    refuse(`run: a batch of ${n}, and the program was saved for ${low} to ${high}: ${advice}`);
  }

  result(values, names) {
    if (this.program.result === "tensor") return values[0];
    if (this.program.result === "list") return values;
    return Object.fromEntries(values.map((value, i) => [names[i], value]));
  }
}

/** An input as {data, shape}; where only the batch is open, the shape follows from the length. */
function elementsOf({ name, dtype, shape }, value, n) {
  const data = value.data ?? value, own = data !== value && value.shape;
  if (data.mapState) return value; // a GPUBuffer
  const rest = product(shape.filter((size) => size !== "N")), count = n ?? Math.floor(data.length / (rest || 1));
  const all = [...(own || shape.map((size) => (size === "N" ? count : size)))];
  if (product(all) !== data.length)
    refuse(`run: ${name} has ${data.length} elements, and ${shown(dtype, all)} has ${product(all)}`);
  return { data, shape: all };
}

function told(error) {
  return ADVICE[error.name] ? new ExecutorError(error.name, ADVICE[error.name](error.message)) : error;
}

/** A program at one batch size: its buffers, and its commands in the executor. */
class Ready {
  /** @param {Program} program */
  constructor({ executor }) {
    this.executor = executor;
    this.own = []; // buffers to free
    this.draws = []; // [word of params, draw, word of the draw]
    this.prepared = 0;
  }

  /**
   * @param {Program} program
   * @param {number} n
   */
  fill(program, n) {
    const { executor } = program;
    const plan = program.plans.plans[program.plans.plan_of[n - program.batch[0]]];
    this.begins = plan.draws.map((e) => valueOf(e, n));
    this.length = valueOf(plan.drawn, n);
    const values = new Map(program.weights.map((handle, i) => [`w${i}`, handle]));
    program.states.forEach((handle, i) => values.set(`s${i}`, handle));
    this.inputs = program.inputs.map(({ dtype, shape }, i) => {
      const handle = this.alloc(program, bytesOf(dtype, product(shape.map((size) => (size === "N" ? n : size)))));
      values.set(`x${i}`, handle);
      return handle;
    });
    const words = this.commands(program, plan, n, values);
    this.outputs = plan.outputs.map(({ value, shape }, i) => {
      const sizes = shape.map((e) => valueOf(e, n)), { name, dtype } = program.outputs[i];
      return { name, dtype, handle: values.get(value), shape: sizes, bytes: bytesOf(dtype, product(sizes)) };
    });
    this.prepared = executor.prepare(words);
  }

  /** The results of these names. */
  wanted(names) {
    const has = this.outputs.map(({ name }) => name).join(", ");
    return names.map((name) => this.outputs.find((output) => output.name === name) ?? refuse(`run: no result '${name}': it has ${has}`));
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
    for (const value of [...plan.outputs.map((output) => output.value), ...plan.state]) last.delete(value);
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
    words.push(...this.keep(program, plan, values));
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

  /** The copies of the state's new values to where they stay, of those that are not there. */
  keep(program, plan, values) {
    const sizes = program.program.state.map(({ dtype, shape }) => bytesOf(dtype, product(shape))), words = [];
    const changed = plan.state.flatMap((value, i) => (value === `s${i}` ? [] : [`s${i}`]));
    const ends = new Set([...plan.state, ...plan.outputs.map(({ value }) => value)]);
    for (const value of changed.filter((name) => ends.has(name))) { // it is overwritten below: move it away first
      const bytes = sizes[Number(value.slice(1))], aside = this.alloc(program, bytes);
      if (bytes) words.push(COPY, values.get(value), aside, whole(bytes));
      values.set(value, aside);
    }
    plan.state.forEach((value, i) => {
      const place = program.states[i];
      if (values.get(value) !== place && sizes[i]) words.push(COPY, values.get(value), place, whole(sizes[i]));
    });
    return words;
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
