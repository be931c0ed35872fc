// @ts-check
/**
 * Turns trained weights into a folder for any web server, by name the bytes of its files: the site's program of the
 * network with these weights in place of its own, the module that runs it, the pad, and a page that joins them.
 */
import { fetched, text } from "../fetched.js";

const PAGE = { // in the folder: in the site
  "index.html": "mnist/own/folder.html", "page.js": "mnist/own/page.js", "pad.js": "mnist/pad.js",
  "preprocess.js": "mnist/preprocess.js", "index.js": "program.js",
};
const IMPORTED = /(?:from |import\()"\.\/([\w.]+)"/g;

export async function webFolder(base, manifest, weights) {
  const files = { "weights.safetensors": weights }, add = async (name, from) => {
    files[name] = await text(new URL(from, base));
    const more = from === "program.js" ? [...files[name].matchAll(IMPORTED)].map(([, module]) => add(module, module)) : [];
    await Promise.all(more);
  };
  const program = manifest.reader.filter((name) => !name.endsWith(".safetensors")).map(async (name) => {
    files[name.split("/").pop()] = new Uint8Array(await fetched(base, name, manifest));
  });
  await Promise.all([...Object.entries(PAGE).map(([name, from]) => add(name, from)), ...program]);
  return files;
}
