// @ts-check
/**
 * Turns what a program's input may be beside typed arrays (numbers, nested arrays of them, pictures) into those, checks
 * buffers of the GPU, and leaves results there or makes nested arrays of them. program.js loads it when it is needed.
 */

import { COPY, ExecutorError, FREE, STORAGE } from "./executor.js";

const WHOLE = { // the least and the most of a whole number's dtype
  i8: [-128, 127], u8: [0, 255], i16: [-32768, 32767], u16: [0, 65535], i32: [-2147483648, 2147483647],
  u32: [0, 4294967295], i64: [-(2n ** 63n), 2n ** 63n - 1n], u64: [0n, 2n ** 64n - 1n],
};
const SHARES = ["f32", "f16", "bf16"], BYTES = ["u8", "i32", "u32"]; // what pictures become: 0 to 1, or 0 to 255
const CHANNELS = [1, 3, 4], GREY = [19595, 38470, 7471]; // red, green, blue of 65536
const PICTURES = [
  "HTMLCanvasElement", "OffscreenCanvas", "ImageBitmap", "VideoFrame", "HTMLVideoElement", "HTMLImageElement", "ImageData",
];

/** @type {(message: string) => never} */
function fail(message) {
  throw new ExecutorError("InputError", `run: ${message}`);
}

/** A value as {data, shape}, data a typed array of the input's dtype; without a shape where the value does not tell it. */
export function converted(spec, value, arrays) {
  if (isPicture(value) || (Array.isArray(value) && isPicture(value[0]))) return pictures(spec, [value].flat(), arrays);
  if (isBuffer(value?.data ?? value)) return buffered(spec, value, arrays);
  const inner = value?.data !== undefined && !ArrayBuffer.isView(value) ? value.data : value;
  const rows = isList(inner) && !(ArrayBuffer.isView(inner) && !fits(spec.dtype, inner));
  if (!rows && !["number", "bigint", "boolean"].includes(typeof inner))
    fail(`${spec.name} is ${kindOf(inner)}: ${spec.dtype} comes as ${arrays[spec.dtype].name}, as an array of` +
      ` ${takes(spec.dtype)}, as a picture, or as {data, shape} with one of the first two`);
  const { numbers, shape } = flat(spec, inner), given = value?.shape;
  return { data: typed(spec.dtype, numbers, arrays), shape: given ?? (shape.length === 1 ? undefined : shape) };
}

// --- numbers ---

/** @type {(value: any) => boolean} */
const isList = (value) => Array.isArray(value) || ArrayBuffer.isView(value);
const kindOf = (value) => value?.constructor?.name ?? String(value);
const quoted = (value) => (typeof value === "string" ? JSON.stringify(value) : isList(value) ? `an ${kindOf(value)}` : String(value));
const takes = (dtype) => (dtype === "bool" ? "booleans, 0 and 1" : WHOLE[dtype] ? `whole numbers from ${WHOLE[dtype].join(" to ")}` : "numbers");

/** Whether a typed array of another class has elements of the dtype all the same. */
const fits = (dtype, array) => ({ u8: "Uint8ClampedArray", f16: "Float16Array" })[dtype] === kindOf(array);

function isElement(dtype, value) {
  if (dtype === "bool") return typeof value === "boolean" || value === 0 || value === 1;
  if (!WHOLE[dtype]) return typeof value === "number";
  const [least, most] = WHOLE[dtype], wide = typeof least === "bigint";
  return (wide && typeof value === "bigint" ? true : wide ? Number.isSafeInteger(value) : Number.isInteger(value))
    && value >= least && value <= most;
}

/**
 * Nested arrays as their elements in order, and the shape.
 * @param {{name: string, dtype: string}} spec
 * @param {any} value
 */
function flat({ name, dtype }, value) {
  const shape = [], numbers = [], path = [], at = () => name + path.map((i) => `[${i}]`).join("");
  for (let row = value; isList(row); row = row[0]) shape.push(row.length);
  const walk = (value, depth) => {
    if (depth === shape.length) {
      if (!isElement(dtype, value)) fail(`${at()} is ${quoted(value)}, and ${dtype} takes ${takes(dtype)}`);
      numbers.push(value);
    } else {
      if (value?.length !== shape[depth] || !isList(value))
        fail(`${at()} is ${isList(value) ? `of ${value.length} elements` : quoted(value)}, and those before it are of` +
          ` ${shape[depth]}: give rows of one length`);
      for (let i = 0; i < value.length; i++) {
        path.push(i);
        walk(value[i], depth + 1);
        path.pop();
      }
    }
  };
  walk(value, 0);
  return { numbers, shape };
}

/** Numbers as the typed array of a dtype. */
function typed(dtype, numbers, arrays) {
  if (dtype === "f16") return new Uint16Array(halves().from(numbers).buffer);
  if (dtype === "bf16") return brains(Float32Array.from(numbers));
  return arrays[dtype].from(numbers, typeof WHOLE[dtype]?.[0] === "bigint" ? BigInt : undefined);
}

function halves() {
  return globalThis.Float16Array ?? fail("this browser has no Float16Array: give f16 as the bits in a Uint16Array");
}

/**
 * The bits of bf16, rounded to the nearest, of two the even one.
 * @param {Float32Array} floats
 */
function brains(floats) {
  const bits = new Uint32Array(floats.buffer);
  return Uint16Array.from(bits, (b, i) => (Number.isNaN(floats[i]) ? 0x7fc0 : (b + 0x7fff + ((b >>> 16) & 1)) >>> 16));
}

/** The results of a run as `output` has it. */
export async function results(program, output, n, given, only) {
  if (output === "gpu") return kept(program, n, given, only);
  if (output !== "typed" && output !== "array") fail(`output is ${quoted(output)}: give "typed", "array" or "gpu"`);
  const made = await program.read(n, given, only);
  return output === "typed" ? made : made.map((value) => ({ ...value, data: nested(value) }));
}

/** A result as nested arrays of numbers, BigInts or booleans. */
function nested({ data, shape, dtype }) {
  let all = Array.from(data);
  if (dtype === "bool") all = all.map(Boolean);
  if (dtype === "f16") all = Array.from(new (halves())(data.slice().buffer));
  if (dtype === "bf16") all = Array.from(new Float32Array(Uint32Array.from(data, (bits) => bits << 16).buffer));
  const cut = (at, depth, count) => {
    if (depth === shape.length) return all[at];
    const part = count / (shape[depth] || 1);
    return Array.from({ length: shape[depth] }, (_, i) => cut(at + i * part, depth + 1, part));
  };
  return cut(0, 0, all.length);
}

// --- buffers of the GPU ---

const COPY_SRC = 4; // GPUBufferUsage's
const isBuffer = (value) => Boolean(globalThis.GPUBuffer) && value instanceof globalThis.GPUBuffer;
const whole = (bytes) => (bytes + 3) & ~3; // bytes that a copy takes

/** {data: a GPUBuffer, shape}, which a run copies. */
function buffered({ name, dtype }, { data, shape }, arrays) {
  const rule = (text) => fail(`${name} is a GPUBuffer ${text}`);
  if (!data || !shape) rule("without its shape: give {data, shape}");
  const sizes = [...shape], each = dtype === "bool" ? 4 : arrays[dtype].BYTES_PER_ELEMENT;
  const bytes = whole(each * sizes.reduce((a, b) => a * b, 1));
  if (data.size < bytes) rule(`of ${data.size} bytes, and ${dtype}[${sizes.join(", ")}] takes ${bytes}: give a larger one`);
  if (!(data.usage & COPY_SRC)) rule("without GPUBufferUsage.COPY_SRC: make it with that usage");
  if (data.mapState !== "unmapped") rule("that is mapped: unmap it first");
  return { data, shape: sizes };
}

/** Run, and copy the results to buffers that are the caller's from then on. */
async function kept(program, n, given, only) {
  const { executor } = program, ready = program.readyFor(n), wanted = ready.wanted(only), noted = program.submit(ready, given);
  const handles = wanted.map(({ bytes }) => executor.alloc(Math.max(whole(bytes), 4), STORAGE));
  const copies = wanted.map(({ handle, bytes }, i) => (bytes ? [COPY, handle, handles[i], whole(bytes)] : []));
  executor.submit(Uint32Array.from(copies.flat()));
  try {
    const asked = handles.flatMap((handle) => [handle, 0]); // nothing, but whether it is good
    program.checkFaults(await executor.read(Uint32Array.of(...asked, ...noted)), noted);
  } catch (error) {
    if (executor.lost === null) executor.submit(Uint32Array.from(handles.flatMap((handle) => [FREE, handle])));
    throw error;
  }
  return handles.map((handle, i) => {
    const data = executor.buffers.get(handle);
    executor.disown(handle);
    return { data, shape: wanted[i].shape, dtype: wanted[i].dtype };
  });
}

// --- pictures ---

const isPicture = (value) => PICTURES.some((kind) => globalThis[kind] && value instanceof globalThis[kind]);

/** Pictures as elements: each is drawn as large as the input is, and its channels are taken. */
function pictures(spec, all, arrays) {
  const { name, dtype, shape } = spec, { channels, first, high, wide } = placed(spec, all[0]), batched = shape[0] === "N";
  const pixels = high * wide, scale = SHARES.includes(dtype) ? 1 / 255 : 1, out = new Float32Array(all.length * channels * pixels);
  all.forEach((picture, k) => {
    const where = batched && all.length > 1 ? `${name}[${k}]` : name, rgba = bytes(where, picture, wide, high);
    for (let i = 0, at = k * channels * pixels; i < pixels; i++) {
      const own = channels === 1 ? [grey(rgba, 4 * i)] : rgba.subarray(4 * i, 4 * i + channels);
      for (let c = 0; c < channels; c++) out[at + (first ? c * pixels + i : i * channels + c)] = own[c] * scale;
    }
  });
  return { data: typed(dtype, out, arrays), shape: shape.map((size) => (size === "N" ? all.length : size)) };
}

const grey = (rgba, at) => (GREY[0] * rgba[at] + GREY[1] * rgba[at + 1] + GREY[2] * rgba[at + 2] + 0x8000) >>> 16;

/** How an input holds a picture: its channels, whether they come first, rows and columns. */
function placed({ name, dtype, shape }, picture) {
  const sizes = shape[0] === "N" || (shape.length === 4 && shape[0] === 1) ? shape.slice(1) : shape;
  const [a, b, c] = sizes, told = `${name} is ${kindOf(picture)}, and ${dtype}[${shape.join(", ")}]`;
  if (![...SHARES, ...BYTES].includes(dtype)) fail(`${told} takes no pictures: export it with ${[...SHARES, ...BYTES].join(", ")}`);
  if (!sizes.includes("N")) {
    if (sizes.length === 2) return { channels: 1, first: true, high: a, wide: b };
    if (sizes.length === 3 && CHANNELS.includes(a)) return { channels: a, first: true, high: b, wide: c };
    if (sizes.length === 3 && CHANNELS.includes(c)) return { channels: c, first: false, high: a, wide: b };
  }
  fail(`${told} has no places for pixels: give its elements, or export with [N, channels, rows, columns], channels 1, 3 or 4`);
}

let canvas = null;

/**
 * A picture's RGBA bytes at a size.
 * @param {string} name
 * @param {any} picture
 * @param {number} wide
 * @param {number} high
 */
function bytes(name, picture, wide, high) {
  const width = picture.displayWidth ?? picture.videoWidth ?? picture.naturalWidth ?? picture.width;
  if (!isPicture(picture)) fail(`${name} is ${kindOf(picture)}, and those before it are pictures: give a list of pictures alone`);
  if (!width) fail(`${name} is ${kindOf(picture)} without pixels: wait until it is loaded, and close it after the run`);
  if (kindOf(picture) === "ImageData") {
    if (picture.width === wide && picture.height === high) return picture.data;
    const own = new OffscreenCanvas(picture.width, picture.height);
    own.getContext("2d").putImageData(picture, 0, 0);
    picture = own;
  }
  if (canvas?.width !== wide || canvas.height !== high) canvas = new OffscreenCanvas(wide, high);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.clearRect(0, 0, wide, high);
  context.imageSmoothingQuality = "high";
  try {
    context.drawImage(picture, 0, 0, wide, high);
    return context.getImageData(0, 0, wide, high).data;
  } catch (error) {
    canvas = null; // it may be tainted
    fail(`${name} is ${kindOf(picture)} that can't be read (${error.message}): one of another site needs crossOrigin = "anonymous"`);
  }
}
