/** What test_browser_values.py asks of exported programs in a page: each function is one test's part there. */

import { load, open } from "/mixed/index.js";

const executor = await open(), models = {}, X = [[1, 2, 3], [4, 5, 6]];
const message = (error) => error.message, whole = (error) => `${error.name}: ${error.message}`;
const rounded = (values) => [...values].map(Math.round);

export async function begin(names) {
  for (const name of names) models[name] = await load(`/${name}/`, { executor });
}

export async function arrays() {
  const output = "array", x = [[1, 2, 3], [4, 5, 6.5]], i = Int32Array.of(1, -2);
  const text = (made) => JSON.stringify(made, (_, v) => (typeof v === "bigint" ? `${v}n` : v));
  const first = text(await models.mixed.run({ x, i: [1, -2], m: [true, 0], s: 2 }, { output }));
  const rows = { x: [Float32Array.from(x[0]), x[1]], i, m: { data: [1, false], shape: [2] }, s: { data: [2], shape: [] } };
  const flat = await models.mixed.run({ x: x.flat(), i, m: [true, false], s: 2 });
  const half = await models.halves.run({ h: [[0.1, -65504], [1e-7, Infinity]], b: [1.00390625, NaN] }, { output });
  const bits = await models.halves.run({ h: new Float16Array([0.5, 1]), b: Uint16Array.of(0x3f80) });
  const wide = await models.wide.run({ k: [2n ** 60n, 5], b: new Uint8ClampedArray([7, 255]) }, { output });
  return {
    first, again: text(await models.mixed.run(rows, { output })), flat: [[...flat.y.data], flat.long.data.join()],
    half: text(half), bits: bits.map(({ data }) => [...data]), wide: text(wide),
    empty: await models.mixed.run({ x: [[]], i: [1], m: [1], s: 1 }).catch(message),
  };
}

export async function wrong(cases) {
  const buffer = (size, usage = 4, mappedAtCreation = false) => executor.device.createBuffer({ size, usage, mappedAtCreation });
  const picture = new OffscreenCanvas(4, 2), said = {};
  for (const text of cases) {
    const given = new Function("buffer", "picture", `return { ${text} }`)(buffer, picture);
    said[text] = await models.mixed.run({ x: [[1, 2, 3]], i: [1], m: [1], s: 1, ...given }).then(() => "nothing", whole);
  }
  return [said, await models.rows.run({ i: [0] }, { output: "list" }).catch(whole),
    await models.wide.run({ k: [2 ** 53], b: [0] }).catch(whole)];
}

/** A canvas of 4 x 2 colours, and its ImageData. */
function painted() {
  const canvas = Object.assign(document.createElement("canvas"), { width: 4, height: 2 }), context = canvas.getContext("2d");
  const drawn = context.createImageData(4, 2);
  for (let i = 0; i < 8; i++) drawn.data.set([20 * i, 255 - 20 * i, i % 2 ? 200 : 0, 255], 4 * i);
  context.putImageData(drawn, 0, 0);
  return { canvas, drawn };
}

export async function pictures() {
  const { canvas, drawn } = painted(), image = new Image(), off = new OffscreenCanvas(4, 2), lists = {};
  image.src = canvas.toDataURL();
  await image.decode();
  off.getContext("2d").drawImage(canvas, 0, 0);
  const frame = new VideoFrame(canvas, { timestamp: 0 }), bitmap = await createImageBitmap(canvas);
  for (const [kind, picture] of Object.entries({ canvas, off, drawn, image, bitmap, frame })) {
    const [rgb, rgba, grey] = await models.pixels.run({ rgb: picture, rgba: picture, grey: picture });
    lists[kind] = [rounded(rgb.data), [...rgba.data], rounded(grey.data), rgb.shape];
  }
  const run = async (rgb) => (await models.pixels.run({ rgb, rgba: drawn, grey: drawn }))[0];
  const two = await run([canvas, image]), halves = [two.data.slice(0, 24), two.data.slice(24)].map(rounded);
  const large = new OffscreenCanvas(40, 20), ink = large.getContext("2d");
  ink.fillStyle = "rgb(10, 20, 30)";
  ink.fillRect(0, 0, 40, 20);
  const small = [await run(large), await run(ink.getImageData(0, 0, 40, 20))].map(({ data }) => rounded(data));
  frame.close();
  bitmap.close();
  const said = [];
  for (const picture of [document.createElement("video"), frame, bitmap, new Image(), [canvas, 5]])
    said.push(await run(picture).catch(message));
  return { lists, wanted: [...drawn.data], batch: two.shape, halves, small, said };
}

/** What a program says of a picture of another site, which a page may show and not read. */
export async function foreign(url) {
  const image = Object.assign(new Image(), { src: url }), { drawn } = painted();
  await image.decode();
  const given = { rgba: drawn, grey: drawn }, told = await models.pixels.run({ ...given, rgb: image }).catch(whole);
  return [told, (await models.pixels.run({ ...given, rgb: drawn }))[0].shape];
}

async function numbers({ data, shape }, Kind, { device } = executor) {
  const size = 4 * shape.reduce((a, b) => a * b, 1), staging = device.createBuffer({ size, usage: 9 });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(data, 0, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  return [...new Kind(staging.getMappedRange())];
}

export async function buffers() {
  const given = { i: [3, 4], m: [1, 0], s: 2 }, gpu = { output: "gpu" }, { mixed, rows } = models;
  await mixed.run({ ...given, x: X });
  const count = executor.buffers.size, { y, twice, not } = await mixed.run({ ...given, x: X }, gpu);
  const second = await mixed.run({ x: y, i: twice, m: not, s: 1 });
  const kept = [await numbers(y, Float32Array), await numbers(twice, Int32Array), await numbers(not, Uint32Array)];
  const one = { i: { data: twice.data, shape: [1] } };
  const outside = [await rows.run({ i: [0, 7] }, gpu).catch(message), await rows.run(one).catch(message)];
  const more = executor.buffers.size - count;
  for (const { data } of [y, twice, not]) data.destroy();
  const gone = await mixed.run({ ...given, x: y }).catch(whole), after = [...(await mixed.run({ ...given, x: X })).y.data];
  return {
    kinds: [y.data instanceof GPUBuffer, y.shape, y.dtype, not.dtype], kept, outside, more, gone, after,
    second: [second.y, second.twice, second.not].map(({ data }) => [...data]),
  };
}

export async function ownDevice() {
  const adapter = await navigator.gpu.requestAdapter(), device = await adapter.requestDevice(), seen = [];
  device.addEventListener("uncapturederror", ({ error }) => seen.push(error.message));
  const model = await load("/noise/", { device }), other = await load("/rows/", { executor: model.executor });
  const data = device.createBuffer({ size: 8, usage: 12 }), strange = executor.device.createBuffer({ size: 8, usage: 12 });
  device.queue.writeBuffer(data, 0, Float32Array.of(5, 6));
  const first = [...(await model.run({ x: { data, shape: [1, 2] } })).data];
  const told = await model.run({ x: { data: strange, shape: [1, 2] } }).then(() => "nothing", ({ name }) => name);
  device.createBuffer({ size: 4, usage: 0 }); // a mistake of the page's own
  const again = (await model.run({ x: [[0, 0]] })).shape, name = model.adapter;
  model.dispose();
  const still = (await other.run({ i: [1] })).shape;
  other.dispose();
  await device.queue.onSubmittedWorkDone();
  const both = await load("/rows/", { device, executor }).catch(whole), lost = await Promise.race([device.lost, "no"]);
  device.destroy();
  return { first, told, again, still, name, seen: seen.length, both, lost };
}

export async function sources() {
  const names = ["program.txt", "kernels.wgsl", "weights.safetensors"], found = {}, counts = {};
  const bytes = await Promise.all(names.map(async (name) => (await fetch(`/noise/${name}`)).arrayBuffer()));
  const by = (made) => Object.fromEntries(names.map((name, i) => [name, made(bytes[i], name)]));
  const shifted = (data) => {
    const all = new Uint8Array(data.byteLength + 3);
    all.set(new Uint8Array(data), 3);
    return all.subarray(3);
  };
  const kinds = {
    buffers: by((data) => data), views: by(shifted), blobs: by((data) => new Blob([data])),
    urls: by((_, name) => `/noise/${name}`), objects: by((data) => URL.createObjectURL(new Blob([data]))),
    files: [...names.map((name, i) => new File([bytes[i]], name)), new File([], "index.js")],
  };
  for (const [kind, source] of Object.entries(kinds)) {
    counts[kind] = [];
    const model = await load(source, { executor, ondownload: (came, all) => counts[kind].push([came, all]) });
    model.seed(3);
    found[kind] = [...(await model.run({ x: [[1, 2]] })).data].join();
    model.dispose();
  }
  return { found, counts, total: bytes.reduce((sum, { byteLength }) => sum + byteLength, 0) };
}

export async function wrongSources(cases) {
  const said = {};
  for (const text of cases) {
    const [source, options] = new Function(`return [${text}]`)();
    said[text] = await load(source, { executor, ...options }).then(() => "nothing", whole);
  }
  return said;
}

/** A fetch whose weights begin to come, and never end. */
const endless = (real) => (url, given) => {
  if (!String(url).endsWith("weights.safetensors")) return real(url, given);
  const start = (to) => {
    to.enqueue(new Uint8Array(8));
    given.signal.addEventListener("abort", () => to.error(given.signal.reason));
  };
  return Promise.resolve(new Response(new ReadableStream({ start })));
};

export async function aborted() {
  const real = fetch, { requestDevice } = GPUAdapter.prototype, opened = [], ends = new AbortController();
  const told = (error) => (error instanceof Error ? whole(error) : error), found = [];
  found.push(await load("/noise/", { executor, signal: AbortSignal.abort() }).catch(told));
  globalThis.fetch = endless(real);
  GPUAdapter.prototype.requestDevice = async function (...given) {
    opened.push(await requestDevice.apply(this, given));
    return opened.at(-1);
  };
  try {
    const ondownload = (came) => came >= 8 && setTimeout(() => ends.abort("the visitor left"));
    found.push(await load("/noise/", { signal: ends.signal, ondownload }).catch(told), (await opened[0].lost).reason);
    found.push(await load("/noise/", { executor, files: { "kernels.wgsl": "/nothing" } }).catch(told));
  } finally {
    globalThis.fetch = real;
    GPUAdapter.prototype.requestDevice = requestDevice;
  }
  const late = new AbortController(), model = await load("/noise/", { executor, signal: late.signal });
  late.abort();
  found.push((await model.run({ x: [[1, 2]] })).shape);
  model.dispose();
  return found;
}

// --- weights that come slowly, or not all of them ---

const LARGE = "/large/", WEIGHTS = "weights.safetensors";
const weightsOf = (how) => ({ files: { [WEIGHTS]: `${LARGE}${WEIGHTS}?once=${how}` } });

/** What a block gives, how many buffers stay of it, and what is rejected there without being heard. */
async function watched(block) {
  const strays = [], hear = ({ reason }) => strays.push(String(reason)), before = executor.buffers.size;
  addEventListener("unhandledrejection", hear);
  const found = await block();
  executor.submit(new Uint32Array()); // what was freed goes with a submit
  await executor.wait();
  await new Promise((done) => setTimeout(done)); // rejections are told once a task is over
  removeEventListener("unhandledrejection", hear);
  return [found, executor.buffers.size - before, strays];
}

/** Load once more, whole. */
async function whether(how) {
  const model = await load(LARGE, { executor, ...weightsOf(how) });
  model.dispose();
  return "loaded";
}

export async function inPieces() {
  const bytes = async (name) => (await fetch(`${LARGE}${name}`)).arrayBuffer(), counts = [];
  const files = { ...weightsOf("pieces").files };
  for (const name of ["program.txt", "kernels.wgsl"]) files[name] = await bytes(name);
  const ondownload = (came, all) => (counts.push([came, all]), void fetch("/more"));
  const model = await load(LARGE, { executor, files, ondownload });
  const x = new Float32Array(model.inputs[0].shape[1]), { data } = await model.run({ x });
  model.dispose();
  return [counts, [data[0], data[1], data.at(-1)], (await bytes(WEIGHTS)).byteLength];
}

export async function broken() {
  const [found, ...rest] = await watched(async () => {
    const said = {};
    for (const kind of ["cut", "chunked", "short"])
      for (const [how, options] of Object.entries({ counted: { ondownload() {} }, plain: {} })) {
        const given = { executor, ...weightsOf(`${kind}-${how}`), ...options };
        said[`${kind}-${how}`] = [await load(LARGE, given).catch(whole), await whether(`${kind}-${how}`)];
      }
    return said;
  });
  return [found, ...rest];
}

export async function stopped() {
  const [found, ...rest] = await watched(async () => {
    const ends = new AbortController(), reason = new Error("enough");
    const ondownload = (came) => came > 0 && ends.abort(reason);
    const loading = (how, options) => load(LARGE, { executor, ...weightsOf(`stall-${how}`), ...options });
    const said = [await loading("before", { signal: AbortSignal.abort() }).catch(whole)];
    const error = await loading("during", { signal: ends.signal, ondownload }).catch((error) => error);
    said.push(error === reason ? "the signal's own reason" : whole(error));
    said.push(await loading("timed", { signal: AbortSignal.timeout(300) }).catch(whole));
    const again = [];
    for (const how of ["", "stall-during", "stall-timed"]) again.push(await whether(how));
    return [...said, again];
  });
  return [...found, ...rest];
}
