// @ts-check
/**
 * Turns a dropped ONNX file into what the page calls in place of its own network. Python comes for it, and the site's
 * archive of flambeau.onnx; both stay for the next file.
 */
import { start } from "../client.js";
import { counted, fetched, manifestOf, text } from "../fetched.js";
import { keep } from "../offline.js";
import * as state from "../state.js";

const BASE = new URL("../", import.meta.url).href;
const FOLDER = "dropped"; // in the worker
const pathOf = ({ name }) => `${FOLDER}/${name.replaceAll("/", "_")}`;
const LARGEST = 1.5e9; // bytes: Python in a page has 4 GB, and a file is there twice for a moment

/** @typedef {import("../client.js").Python} Python */
/** @typedef {{moved(what?: string): void}} Watch */

/** @type {Promise<Python> | null} */
let python = null; // until it is stopped
/** @type {Python | null} */
let running = null; // the same, once it is there

/**
 * Python with the archive; `watch` sees what moves.
 * @param {Watch} watch
 */
function started(watch) {
  python ??= open(watch).catch((error) => {
    python = null;
    throw error;
  });
  return python;
}

/** @param {Watch} watch */
async function open(watch) {
  const source = text(new URL("network.py", import.meta.url));
  source.catch(() => {}); // told below
  const found = await start({
    base: BASE, onprogress: state.bytes("loading Python"), onstatus: state.told, onbroken: stop, watch,
    oncompile: ({ compiled, all }) => state.told(`compiling kernels: ${compiled} of ${all}`, compiled / all),
  });
  try {
    const manifest = await manifestOf(BASE);
    await found.unpack(await fetched(BASE, manifest.onnx, manifest));
    await found.install("network.py", await source);
    keep(BASE, [new URL(manifest.onnx, BASE).href]);
  } catch (error) {
    found.stop();
    throw error;
  }
  found.on("step", (what) => state.told(what));
  return (running = found);
}

function stop() {
  python?.then((found) => found.stop(), () => {});
  python = running = null;
}

/** End what Python does, if it does anything; else it stays for the next file. */
export function release() {
  if (!running || running.waiting.size) stop();
}

/**
 * The bytes of a file, with progress.
 * @param {File} file
 */
async function bytesOf(file) {
  const tell = state.bytes(`reading ${file.name}`);
  let came = 0;
  const seen = (count) => tell({ loaded: (came += count), total: file.size });
  try {
    return new Uint8Array(await new Response(counted(file.stream(), seen)).arrayBuffer());
  } catch (error) {
    throw new Error(`${file.name} cannot be read (${error.message}): choose it again.`);
  }
}

/**
 * A network of the files that were dropped together: the .onnx file, and those beside it where its weights are. What
 * keeps it from running is in `problems`.
 * @param {File[]} files
 * @param {Watch} watch
 */
export async function opened(files, watch) {
  const model = files.find(isNetwork), size = files.reduce((sum, file) => sum + file.size, 0);
  const refused = (text) => new Network(null, model.name, { problems: [text] });
  if (size > LARGEST)
    return refused(`${model.name}: ${(size / 1e9).toFixed(1)} GB are more than a page can hold: run it on the desktop`);
  if (!model.size) return refused(`${model.name}: is empty: get a whole copy`);
  const found = await started(watch);
  await found.run(`import os, shutil\nshutil.rmtree("${FOLDER}", ignore_errors=True)\nos.mkdir("${FOLDER}")`);
  for (const file of files) await found.install(pathOf(file), await bytesOf(file));
  const told = await found.call("network.look", pathOf(model), model.name);
  return new Network(found, model.name, told);
}

/**
 * Whether a file is taken for a network.
 * @param {{name?: string}} file
 */
export const isNetwork = ({ name }) => /\.onnx$/i.test(name ?? "");

/**
 * @typedef {object} Told what network.py's `look` has found; all but the problems only where there are none
 * @property {string[]} problems
 * @property {number} [nodes]
 * @property {number} [weights]
 * @property {string[][]} [inputs] names, and what each is
 * @property {string[][]} [outputs]
 * @property {string} [picture] how it is shown pictures, if it takes them
 * @property {string} [scale] one of network.py's SCALES
 */

export class Network {
  /**
   * @param {Python | null} python
   * @param {string} name
   * @param {Told} told
   */
  constructor(python, name, told) {
    this.python = python;
    this.name = name;
    this.told = told;
    this.takesPictures = Boolean(told.picture);
  }

  /**
   * What it says of a picture, as picture.js draws it: {share, label} of the best classes, or {outputs}.
   * @param {ReturnType<typeof import("./picture.js").drawn>} drawn
   */
  async run({ canvas, side }) {
    return result(await this.python.call("network.see", canvas.data, side[0]));
  }

  /**
   * The outputs for random inputs.
   * @param {number} seed
   */
  async draw(seed) {
    return result(await this.python.call("network.draw", seed));
  }

  /**
   * Prepare pictures by another of network.py's SCALES.
   * @param {string} scale
   */
  scaled(scale) {
    return this.python.call("network.scaled", scale);
  }
}

/** @typedef {{name: string, what: string, numbers: string, range?: string}} Row an output: its first numbers, and their range */
/** @typedef {{share?: {data: number[] | Float32Array}, label?: {data: number[] | Int32Array}, outputs?: Row[]}} Found */

/** @returns {Found} */
function result({ problem, outputs, best }) {
  if (problem) throw new Error(problem);
  return best ? { share: { data: best.share }, label: { data: best.label } } : { outputs };
}
