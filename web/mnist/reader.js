// @ts-check
/**
 * Turns the site's files into the network of digits without Python: `const reader = await readerOf(base, manifest)`, then
 * `await reader.predict(pixels)` gives ten probabilities. `onkernels(ready, all)` is called as its kernels compile.
 */
import { fetched } from "../fetched.js";
import { load } from "../program.js";

/** @type {(folder: URL, options: object) => Promise<any>} */
const opened = load;

/** @param {(ready: number, all: number) => void} [onkernels] */
export async function readerOf(base, manifest, onkernels) {
  const found = await Promise.all(manifest.reader.map((name) => fetched(base, name, manifest)));
  const files = Object.fromEntries(manifest.reader.map((name, i) => [name.split("/").pop(), found[i]]));
  const program = await opened(new URL(manifest.reader[0], base), { files, onprogress: onkernels });
  await program.prepare();
  const predict = async (pixels) => (await program.run({ pixels: { data: pixels, shape: [1, pixels.length] } })).data;
  return { predict, adapter: program.adapter };
}
