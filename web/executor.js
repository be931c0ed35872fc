// @ts-check
/**
 * Turns flat integer commands into WebGPU work: what Flambeau's kernels run on in a browser, from Python under
 * Pyodide (src/flambeau/device/web.py) and from exported models without it. No dependency.
 *
 * Buffers, pipelines and prepared commands are numbers outside. A submit is one Uint32Array of commands:
 *   DISPATCH, pipeline, params, offset, x, y, z, n, n buffers   a kernel; the last buffers are those it writes,
 *                                                               and its Params lie at byte `offset` of `params`
 *   COPY, from, to, bytes                                       from the start of one buffer to that of another
 *   REPLAY, prepared                                            what prepare() was given, resolved once
 *   FREE, buffer    FORGET, prepared    DROP, pipeline          after all the other commands of this submit
 *
 * Nothing here blocks and everything keeps its order. Pipelines are compiled, and large buffers made, in the
 * background: meanwhile writes, submits and reads wait in line. Where a kernel turns out not to compile, or a
 * buffer not to fit, the values behind it are bad, and reading one of them throws what went wrong.
 */

export const DISPATCH = 1, COPY = 2, REPLAY = 3, FREE = 4, FORGET = 5, DROP = 6;
// where a dispatch has what; where a copy does, and how long it is; the same of the others
export const PIPELINE = 1, PARAMS = 2, OFFSET = 3, GRID = 4, COUNT = 7, BUFFERS = 8;
const FROM = 1, TO = 2, BYTES = 3, COPY_WORDS = 4;
const NUMBER = 1, SHORT_WORDS = 2;
export const STORAGE = 0x80 | 0x04 | 0x08, UNIFORM = 0x40 | 0x08; // the uses that alloc() takes
const STAGING = 0x01 | 0x08, READ = 1, COMPUTE = 4;
const PARAMS_WINDOW = 1024; // how many bytes of Params a kernel sees
// of `executor.faults`: words: 0, or 1 or 2 (where a signed or unsigned index was outside its dim) << 16 | site, both words of the
// index, size of the dim
export const FAULT_BYTES = 16;
const FAULTS = "var<storage, read_write> faults:"; // in the text of kernels that note it
// smaller buffers are taken to fit: asking costs a round trip
const CHECKED = 1 << 20;
// the oldest bind groups go: buffers come together in ever new ways
const STAGING_KEPT = 4, BINDINGS_KEPT = 4096;

export const PORTABLE = { // no kernel goes beyond these, but one that does the work of several, by `bundleBuffers`;
  maxStorageBuffersPerShaderStage: 8, // memory limits are the adapter's own
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupStorageSize: 16384,
};
const OF_ADAPTER = ["maxBufferSize", "maxStorageBufferBindingSize", "maxComputeWorkgroupsPerDimension"];
const BOUND = "maxStorageBuffersPerShaderStage", BUNDLE_BUFFERS = 64;
const WANTED = ["shader-f16", "subgroups", "timestamp-query"];

/** What goes wrong, by `name`: NoAdapter, DeviceLost, OutOfMemory, CompileError or CommandError. */
export class ExecutorError extends Error {
  /**
   * @param {string} name
   * @param {string} message
   */
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

/** Open the best adapter; NoAdapter says what is missing. */
export async function open(options = { powerPreference: "high-performance" }) {
  if (!globalThis.isSecureContext) noAdapter("WebGPU needs https or localhost: open the page by such an address");
  const gpu = globalThis.navigator?.gpu;
  if (!gpu) noAdapter("this browser has no WebGPU: update it or turn WebGPU on");
  const adapter = await gpu.requestAdapter(options);
  if (!adapter) noAdapter("WebGPU finds no adapter: turn hardware acceleration on in the settings");
  const requiredLimits = { ...PORTABLE };
  for (const name of OF_ADAPTER) requiredLimits[name] = adapter.limits[name];
  requiredLimits[BOUND] = Math.min(adapter.limits[BOUND], BUNDLE_BUFFERS);
  const requiredFeatures = WANTED.filter((name) => adapter.features.has(name));
  try {
    const device = await adapter.requestDevice({ label: "flambeau", requiredLimits, requiredFeatures });
    return new Executor(device, adapter.info);
  } catch (error) {
    noAdapter(`${nameOf(adapter.info)} refuses: ${error.message}`);
  }
}

/** @type {(message: string) => never} */
function noAdapter(message) {
  throw new ExecutorError("NoAdapter", message);
}

function nameOf(info) {
  const told = info.description || info.device || [info.vendor, info.architecture].filter(Boolean).join(" ");
  return told || (info.isFallbackAdapter ? "software adapter without a name" : "GPU without a name"); // Firefox's have none
}

export class Executor {
  /** On a device that open() got from the adapter of `info`; without it on one of the page's own, for which the page answers. */
  constructor(device, info) {
    this.guest = !info;
    info ??= device.adapterInfo ?? {};
    const { limits } = device;
    this.name = nameOf(info);
    this.software = Boolean(info.isFallbackAdapter) || info.architecture === "swiftshader";
    this.features = [...device.features];
    this.groups = limits.maxComputeWorkgroupsPerDimension;
    this.maxBinding = Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize);
    this.bundleBuffers = limits[BOUND];
    /** @type {string | null} */
    this.lost = null; // why, once the device is gone
    this.compiled = this.compiling = 0; // pipelines that are ready, and that are not yet
    /** @type {((compiled: number, all: number) => void) | null} */
    this.onprogress = null; // called with (compiled, all) as pipelines become ready
    this.device = device;
    this.queue = device.queue;
    /** @type {Map<number, any>} */
    this.buffers = new Map(); // number -> GPUBuffer, or the ExecutorError that is in its place
    this.fresh = new Set(); // buffers that nothing has used yet
    this.pipelines = []; // number -> {made (or an ExecutorError), layout, outputs}
    this.dropped = []; // numbers of pipelines that are no more
    /** @type {Map<string, any[]>} */
    this.layouts = new Map(); // counts of inputs and outputs -> [bind group layout, pipeline layout]
    /** @type {Map<string, any>} */
    this.bindings = new Map(); // "outputs,offset,params,buffers" -> bind group
    this.bindingsKept = BINDINGS_KEPT;
    /** @type {Map<number, Set<string>>} */
    this.users = new Map(); // buffer -> the keys of the bind groups that it is in, a set
    /** @type {Map<number, {words: Uint32Array, steps: any[] | null}>} */
    this.prepared = new Map(); // number -> {words, steps}
    /** @type {Map<number, Error>} */
    this.bad = new Map(); // buffer -> why what it holds is not what was asked for
    this.staging = [];
    this.faults = 0; // the buffer where kernels note faults, once there is such a kernel
    this.next = 1;
    this.unsettled = 0; // pipelines and large buffers that may still fail
    /** @type {(() => void)[]} */
    this.line = []; // what waits for them
    /** @type {Error[]} */
    this.troubles = []; // errors that belong to no buffer: the next read reports them
    /** @type {Promise<void> | null} */
    this.watched = null; // done when those of what guarded() did are known
    device.lost.then(({ reason, message }) => (this.lost = message || reason || "no reason given"));
    if (!this.guest) device.onuncapturederror = ({ error }) => this.trouble(error);
  }

  trouble(error) {
    if (error) this.troubles.push(new ExecutorError("CommandError", error.message));
  }

  // --- order ---

  /** Throw if the device is gone. */
  check() {
    if (this.lost !== null) throw new ExecutorError("DeviceLost", this.lost);
  }

  later(action) {
    if (this.unsettled || this.line.length) this.line.push(action);
    else action();
  }

  /** What the caller may change, as it is now: only what waits in line is copied. */
  own(array) {
    return this.unsettled || this.line.length ? array.slice() : array;
  }

  until(promise) {
    this.unsettled++;
    promise.catch((error) => this.troubles.push(error)).then(() => {
      this.unsettled--;
      while (!this.unsettled && this.line.length)
        try {
          this.line.shift()();
        } catch (error) { // nobody calls it: the next read tells, and what waits behind it goes on
          this.troubles.push(error);
        }
    });
  }

  /** Do what may go wrong where nobody listens to the device, or for a buffer that is not ours. */
  guarded(action, watch = this.guest) {
    if (!watch) return action();
    this.device.pushErrorScope("validation");
    try {
      return action();
    } finally {
      this.watched = this.device.popErrorScope().then((error) => this.trouble(error), () => {}); // a lost device has none
    }
  }

  inLine(action) {
    return new Promise((resolve, reject) => {
      this.later(() => {
        try {
          resolve(action());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  // --- memory ---

  /** A new buffer's number. Whether a large one fits is known later. */
  alloc(size, usage) {
    const handle = this.next++;
    if (size >= CHECKED) this.device.pushErrorScope("out-of-memory");
    this.buffers.set(handle, this.device.createBuffer({ size, usage }));
    this.fresh.add(handle);
    if (size >= CHECKED)
      this.until(this.device.popErrorScope().then((error) => {
        if (error) this.buffers.set(handle, new ExecutorError("OutOfMemory", `${size} bytes: ${error.message}`));
      }));
    return handle;
  }

  /** The number of a GPUBuffer that is not ours: copies may name it, until disown(). */
  adopt(buffer) {
    this.buffers.set(this.next, buffer);
    return this.next++;
  }

  disown(handle) {
    this.later(() => {
      this.buffers.delete(handle);
      this.bad.delete(handle);
    });
  }

  /**
   * Copy bytes to the start of a buffer.
   * @param {number} handle
   * @param {Uint8Array} given
   */
  write(handle, given) {
    this.check();
    const isFresh = this.fresh.delete(handle);
    let bytes = this.own(given);
    this.later(() => {
      const buffer = this.buffers.get(handle);
      if (buffer instanceof Error) return void this.bad.set(handle, buffer);
      this.bad.delete(handle);
      // The browser clears a buffer whose first write leaves a part of it out, and on NVIDIA's Vulkan driver that
      // clear may run beside the write: the first write covers the complete buffer.
      if (isFresh && bytes.length < buffer.size) {
        const all = new Uint8Array(buffer.size);
        all.set(bytes);
        bytes = all;
      }
      const rest = bytes.length % 4;
      if (bytes.length > rest) this.queue.writeBuffer(buffer, 0, bytes, 0, bytes.length - rest);
      if (!rest) return;
      const last = new Uint8Array(4);
      last.set(bytes.subarray(bytes.length - rest));
      this.queue.writeBuffer(buffer, bytes.length - rest, last);
    });
  }

  free(handle) {
    for (const key of this.users.get(handle) ?? []) this.unbind(key);
    this.users.delete(handle);
    this.bad.delete(handle);
    this.buffers.get(handle)?.destroy?.();
    this.buffers.delete(handle);
  }

  /**
   * The bytes of several buffers, [buffer, bytes, ...], one after the other at multiples of four.
   * @param {Uint32Array} given
   */
  async read(given) {
    this.check();
    const asked = this.own(given), { buffer, total } = await this.inLine(() => this.guarded(() => this.copyOut(asked)));
    try {
      if (total) await buffer.mapAsync(READ, 0, total);
    } catch (error) {
      throw new ExecutorError("DeviceLost", this.lost ?? error.message);
    }
    const out = total ? new Uint8Array(buffer.getMappedRange(0, total)).slice() : new Uint8Array(0);
    buffer.unmap();
    if (this.staging.length < STAGING_KEPT) this.staging.push(buffer);
    else buffer.destroy();
    await this.watched;
    if (this.troubles.length) throw this.troubles.shift();
    return out;
  }

  /** A new buffer to read from. It is mapped once, which fills it: see write(). */
  stage(size) {
    const buffer = this.device.createBuffer({ size, usage: STAGING, mappedAtCreation: true });
    buffer.unmap();
    return buffer;
  }

  copyOut(asked) {
    let total = 0;
    for (let i = 0; i < asked.length; i += 2) {
      const buffer = this.buffers.get(asked[i]), wrong = this.bad.get(asked[i]);
      if (wrong ?? buffer instanceof Error) throw wrong ?? buffer;
      total += (asked[i + 1] + 3) & ~3;
    }
    const found = this.staging.findIndex((buffer) => buffer.size >= total);
    const size = Math.max(4096, 2 ** Math.ceil(Math.log2(total || 1)));
    const buffer = found < 0 ? this.stage(size) : this.staging.splice(found, 1)[0];
    const encoder = this.device.createCommandEncoder();
    for (let i = 0, at = 0; i < asked.length; i += 2) {
      const bytes = (asked[i + 1] + 3) & ~3;
      if (bytes) encoder.copyBufferToBuffer(this.buffers.get(asked[i]), 0, buffer, at, bytes);
      at += bytes;
    }
    this.queue.submit([encoder.finish()]);
    return { buffer, total };
  }

  /** Return when everything submitted is done. */
  async wait() {
    this.check();
    await this.inLine(() => this.queue.onSubmittedWorkDone());
    this.check();
    if (this.troubles.length) throw this.troubles.shift();
  }

  // --- kernels ---

  /** Begin to compile WGSL that reads `inputs` buffers and writes `outputs`; returns its number at once. One that
      notes faults binds `faults` behind them. */
  pipeline(wgsl, label, inputs, outputs = 1) {
    const checks = wgsl.includes(FAULTS);
    if (checks && !this.faults) this.faults = this.alloc(FAULT_BYTES, STORAGE);
    const { device } = this, [layout, whole] = this.layoutOf(inputs, outputs + checks);
    const number = this.dropped.pop() ?? this.pipelines.length, entry = { made: null, layout, outputs, checks };
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ label, code: wgsl });
    const parsed = device.popErrorScope();
    const compute = { module, entryPoint: "main" };
    const linked = device.createComputePipelineAsync({ label, layout: whole, compute }).catch((error) => error);
    this.pipelines[number] = entry;
    this.compiling++;
    this.until(Promise.all([parsed, linked]).then(([error, made]) => {
      const wrong = error ?? (made instanceof Error ? made : null);
      entry.made = wrong
        ? new ExecutorError("CompileError", `${label}: ${told(wrong.message, wgsl)}`) : made;
      this.compiling--;
      this.onprogress?.(++this.compiled, this.compiled + this.compiling);
    }));
    return number;
  }

  layoutOf(inputs, outputs) {
    const key = inputs + "," + outputs;
    let found = this.layouts.get(key);
    if (!found) {
      const types = ["uniform", ...Array(inputs).fill("read-only-storage"), ...Array(outputs).fill("storage")];
      const entries = types.map((type, binding) => ({ binding, visibility: COMPUTE, buffer: { type } }));
      const layout = this.device.createBindGroupLayout({ entries });
      found = [layout, this.device.createPipelineLayout({ bindGroupLayouts: [layout] })];
      this.layouts.set(key, found);
    }
    return found;
  }

  /** The bind group of these buffers, made once. The first is Params, from byte `offset` on: offsets that are given
      with each dispatch cost more than a group for each. */
  bind({ layout, outputs, checks }, handles, offset) {
    if (checks) [handles, outputs] = [[...handles, this.faults], outputs + 1];
    const key = [outputs, offset, ...handles].join();
    let group = this.bindings.get(key);
    if (group) return group;
    for (let i = handles.length - outputs; i < handles.length; i++)
      if (handles.indexOf(handles[i], 1) < i)
        throw new ExecutorError("CommandError", `a kernel reads and writes buffer ${handles[i]} at once`);
    const entries = [];
    for (let binding = 0; binding < handles.length; binding++) {
      const buffer = this.buffers.get(handles[binding]);
      if (buffer instanceof Error) throw buffer;
      entries.push({ binding, resource: binding ? { buffer } : { buffer, offset, size: PARAMS_WINDOW } });
    }
    group = this.device.createBindGroup({ layout, entries });
    this.bindings.set(key, group);
    for (const handle of handles) {
      if (!this.users.has(handle)) this.users.set(handle, new Set());
      this.users.get(handle).add(key);
    }
    if (this.bindings.size > this.bindingsKept) this.unbind(this.bindings.keys().next().value);
    return group;
  }

  unbind(key) {
    this.bindings.delete(key);
    for (const handle of key.split(",").slice(2)) this.users.get(Number(handle))?.delete(key);
  }

  /**
   * Keep commands to be replayed again and again; returns their number.
   * @param {Uint32Array} words
   */
  prepare(words) {
    const number = this.next++;
    this.prepared.set(number, { words, steps: null });
    return number;
  }

  /**
   * Run commands: one encoder, one pass between copies, one submit.
   * @param {Uint32Array} given
   * @param {boolean} [watch] whether they name buffers that were adopted
   */
  submit(given, watch) {
    this.check();
    this.fill(given);
    const words = this.own(given);
    this.later(() => this.run(words, watch));
  }

  /** Run what prepare() was given: submit() of one REPLAY, without an array that crosses. */
  replay(prepared) {
    this.check();
    const words = [REPLAY, prepared];
    this.fill(words);
    this.later(() => this.run(words));
  }

  /** Write all of a new buffer that commands first copy to in part, for the reason that write() names. */
  fill(words) {
    for (let i = 0; this.fresh.size && i < words.length; i += sizeOf(words, i))
      if (words[i] === DISPATCH)
        for (const handle of words.slice(i + BUFFERS, i + sizeOf(words, i))) this.fresh.delete(handle);
      else if (words[i] === COPY) {
        const to = words[i + TO], buffer = this.fresh.has(to) && this.buffers.get(to);
        if (buffer && words[i + BYTES] < buffer.size) this.write(to, new Uint8Array(0));
        this.fresh.delete(to);
      } else if (words[i] === REPLAY) this.fill(this.prepared.get(words[i + NUMBER])?.words ?? []);
  }

  run(words, watch) {
    let ends = [];
    try {
      this.tried(words, watch, ends);
    } catch (error) {
      ends = this.endsOf(words); // also the commands after the one that failed
      this.spread(words, error);
    } finally {
      this.end(ends);
    }
  }

  tried(words, watch, ends) {
    this.guarded(() => {
      const steps = this.resolve(words, ends);
      if (!steps.length) return;
      const encoder = this.device.createCommandEncoder();
      play(encoder, steps);
      this.queue.submit([encoder.finish()]);
    }, watch);
    if (this.bad.size) this.spread(words, null);
  }

  endsOf(words) {
    const ends = [];
    for (let i = 0; i < words.length; i += sizeOf(words, i))
      if (words[i] > REPLAY) ends.push([words[i + NUMBER], words[i]]);
    return ends;
  }

  end(ends) {
    for (const [number, which] of ends)
      if (which === FREE) this.free(number);
      else if (which === FORGET) this.prepared.delete(number);
      else {
        this.pipelines[number] = null;
        this.dropped.push(number);
      }
  }

  /** Commands as objects ready to be played, not to be changed; throws what a kernel or a buffer failed with. */
  resolve(words, ends) {
    const steps = [];
    for (let i = 0; i < words.length; i += sizeOf(words, i)) {
      const which = words[i];
      if (which === DISPATCH) {
        const pipeline = this.pipelines[words[i + PIPELINE]], end = i + sizeOf(words, i);
        if (pipeline.made instanceof Error) throw pipeline.made;
        const handles = [words[i + PARAMS], ...words.subarray(i + BUFFERS, end)];
        const [x, y, z] = words.subarray(i + GRID, i + COUNT);
        steps.push({ pipeline: pipeline.made, group: this.bind(pipeline, handles, words[i + OFFSET]), x, y, z });
      } else if (which === COPY) {
        const from = this.buffers.get(words[i + FROM]), to = this.buffers.get(words[i + TO]);
        for (const buffer of [from, to]) if (buffer instanceof Error) throw buffer;
        steps.push({ pipeline: null, from, to, bytes: words[i + BYTES] });
      } else if (which === REPLAY) {
        const kept = this.prepared.get(words[i + NUMBER]);
        kept.steps ??= this.resolve(kept.words, ends);
        if (words.length === SHORT_WORDS) return kept.steps; // to copy them takes a fifth of the time to encode them
        for (const step of kept.steps) steps.push(step);
      } else ends.push([words[i + NUMBER], which]);
    }
    return steps;
  }

  /** After a submit: what is computed from bad values is bad; with an error, all that it was to write is. */
  spread(words, error) {
    for (let i = 0; i < words.length; i += sizeOf(words, i)) {
      if (words[i] === REPLAY) this.spread(this.prepared.get(words[i + NUMBER]).words, error);
      if (words[i] !== DISPATCH && words[i] !== COPY) continue;
      const copies = words[i] === COPY, after = i + (copies ? BYTES : sizeOf(words, i));
      const end = copies ? i + TO : after - this.pipelines[words[i + PIPELINE]].outputs;
      let why = error;
      for (let j = i + (copies ? FROM : BUFFERS); !why && j < end; j++) why = this.bad.get(words[j]);
      for (let j = end; j < after; j++)
        if (why) this.bad.set(words[j], why);
        else this.bad.delete(words[j]);
    }
  }
}

function sizeOf(words, i) {
  return words[i] === DISPATCH ? BUFFERS + words[i + COUNT] : words[i] === COPY ? COPY_WORDS : SHORT_WORDS;
}

/** The words of a kernel over a grid of workgroups. */
export function dispatch(pipeline, params, offset, grid, buffers) {
  return [DISPATCH, pipeline, params, offset, ...grid, buffers.length, ...buffers];
}

function play(encoder, steps) {
  let pass = null, last = null;
  for (const step of steps) {
    if (step.pipeline) {
      pass ??= encoder.beginComputePass();
      if (step.pipeline !== last) pass.setPipeline((last = step.pipeline));
      pass.setBindGroup(0, step.group);
      pass.dispatchWorkgroups(step.x, step.y, step.z);
    } else {
      pass?.end();
      pass = last = null;
      encoder.copyBufferToBuffer(step.from, 0, step.to, 0, step.bytes);
    }
  }
  pass?.end();
}

/** A compiler's message with the lines of the shader about the place that it names. */
export function told(message, wgsl) {
  const at = Number(/:(\d+):\d+/.exec(message)?.[1] ?? 0), lines = wgsl.split("\n"), near = [];
  for (let i = Math.max(at - 2, 1); at && i < Math.min(at + 3, lines.length + 1); i++)
    near.push(`  ${String(i).padStart(4)} ${lines[i - 1]}`);
  return [message.trim(), ...near].join("\n");
}

// --- for Python alone: exported programs are without what follows ---

const RESOLVE = 0x200 | 0x04, QUERIES = 4096;

/** @type {ThisType<Executor & {stamped(words: Uint32Array): any[]}>} */
const forPython = {
  /** The bytes of a buffer. */
  sizeOf(handle) {
    return this.buffers.get(handle)?.size ?? 0;
  },

  /** How many buffers a pipeline writes: the last that it binds. */
  outputsOf(pipeline) {
    return this.pipelines[pipeline].outputs;
  },

  /** Run commands with each kernel, and each run of copies, in passes of their own; [begin, end, ...] of each in
      ns of the GPU's clock, as the bytes of 64-bit integers. */
  async timestamps(given) {
    this.check();
    const words = this.own(given);
    if (!this.device.features.has("timestamp-query")) throw new ExecutorError("NoTimestamps", "it has no timestamps");
    const parts = await this.inLine(() => this.stamped(words));
    const out = new Uint8Array(parts.reduce((n, part) => n + part.size, 0));
    let at = 0;
    for (const part of parts) {
      await part.mapAsync(READ);
      out.set(new Uint8Array(part.getMappedRange()), at);
      at += part.size;
      part.destroy();
    }
    return out;
  },

  stamped(words) {
    const { device } = this, spans = spansOf(this.resolve(words, [])), parts = [];
    const encoder = device.createCommandEncoder();
    for (let first = 0; first < spans.length; first += QUERIES / 2) {
      const some = spans.slice(first, first + QUERIES / 2), count = 2 * some.length;
      const querySet = device.createQuerySet({ type: "timestamp", count });
      some.forEach((span, i) => playStamped(encoder, span, querySet, 2 * i));
      const made = device.createBuffer({ size: 8 * count, usage: RESOLVE });
      const staging = device.createBuffer({ size: 8 * count, usage: STAGING });
      encoder.resolveQuerySet(querySet, 0, count, made, 0);
      encoder.copyBufferToBuffer(made, 0, staging, 0, 8 * count);
      parts.push(staging);
    }
    this.queue.submit([encoder.finish()]);
    if (this.bad.size) this.spread(words, null);
    return parts;
  },
};
Object.assign(Executor.prototype, forPython);

/** Steps in groups that are timed together: a kernel alone, copies with those beside them. */
function spansOf(steps) {
  const spans = [];
  for (const step of steps) {
    const last = spans.at(-1);
    if (last && !step.pipeline && !last[0].pipeline) last.push(step);
    else spans.push([step]);
  }
  return spans;
}

function playStamped(encoder, span, querySet, at) {
  const begin = { querySet, beginningOfPassWriteIndex: at }, end = { querySet, endOfPassWriteIndex: at + 1 };
  if (span[0].pipeline) {
    const [step] = span, pass = encoder.beginComputePass({ timestampWrites: { ...begin, ...end } });
    pass.setPipeline(step.pipeline);
    pass.setBindGroup(0, step.group);
    pass.dispatchWorkgroups(step.x, step.y, step.z);
    return pass.end();
  }
  encoder.beginComputePass({ timestampWrites: begin }).end(); // copies are outside of passes: between two
  for (const { from, to, bytes } of span) encoder.copyBufferToBuffer(from, 0, to, 0, bytes);
  encoder.beginComputePass({ timestampWrites: end }).end();
}
