// @ts-check
/** Turns index.html into the Playground: `?example=mandelbrot` opens an example, `#code=...` a program that was shared. */
import { check } from "../check.js";
import { Editor } from "../editor.js";
import { idle, plenty, text } from "../fetched.js";
import { notice } from "../notice.js";
import { keep } from "../offline.js";
import { Runner } from "../runner.js";
import { inspectorFrame, kernelList, Output } from "../shown.js";
import * as state from "../state.js";
import { el } from "../wgsl.js";
import { asFragment, fromFragment } from "./share.js";

const BASE = new URL("../", import.meta.url).href;
const EXAMPLES = { // file: what it is
  fusion: "Operations become kernels", gradient: "A gradient as a curve", spiral: "Train a classifier", digits: "Train on digits",
  mandelbrot: "The Mandelbrot set", life: "Conway's Game of Life", diffusion: "Heat spreads", shader: "A kernel of your own",
  attention: "Attention", text: "A character model", filters: "Filters of a picture", speed: "How fast is this GPU?",
};
const KEPT = "flambeau-playground"; // where the browser keeps the last program
const NAME = "playground.py", AT_FIRST = "Python is loaded at the first run.";
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);

const runner = new Runner(BASE, {
  say: (told, part) => isAsked && state.told(told, part),
  onadapter: (adapter) => (byId("adapter").textContent = adapter),
});
const editor = new Editor(byId("source"), () => run());
/** @type {import("../runner.js").Program | null} */
let last = null; // what the kernels below are of
let obstacle = "", isAsked = false; // for a run: before it, Python loads without a word

const program = () => ({ source: editor.source, name: NAME, space: "playground", fresh: true });

async function run() {
  if (runner.running || obstacle) return;
  isAsked = true;
  const output = new Output(byId("output"), (line) => editor.select(line));
  byId("output").classList.add("busy");
  byId("run").disabled = true;
  byId("stop").hidden = byId("progress").hidden = false;
  byId("ran").textContent = "";
  kernels(null);
  remember();
  const asked = program();
  try {
    const ended = await runner.run(asked, (piece) => output.add(piece));
    output.finish(ended);
    editor.mark(ended.line ?? 0);
    if (!ended.stopped) told(ended, asked);
  } catch (error) {
    state.failed(error);
  } finally {
    byId("output").classList.remove("busy");
    byId("run").disabled = false;
    byId("stop").hidden = true;
  }
}

/** @param {import("../runner.js").Ended} ended */
function told(ended, asked) {
  state.ready(ended.error ? "The program ended with an error." : "Done.");
  const count = ended.kernels.reduce((sum, { times }) => sum + times, 0), seconds = (ended.ms / 1000).toFixed(2);
  byId("ran").textContent = `${seconds} s on ${byId("adapter").textContent}; ${ended.kernels.length} kernels, planned ${count} times.`;
  last = asked;
  kernels(ended.kernels);
}

/** @param {import("../runner.js").Kernel[] | null} all */
function kernels(all) {
  byId("made").hidden = !all?.length;
  byId("kernels").replaceChildren(...kernelList(all ?? []));
  byId("inspection").replaceChildren();
}

async function inspect() {
  if (!last || runner.running) return;
  byId("inspect").disabled = true;
  byId("progress").hidden = false;
  try {
    byId("inspection").replaceChildren(inspectorFrame(BASE, await runner.inspect(last)));
    state.ready("The inspector shows this run.");
    byId("inspection").scrollIntoView({ block: "nearest" });
  } catch (error) {
    state.ready("The kernels were not inspected.");
    byId("inspection").replaceChildren(el("p", { class: "wrong" }, error.message));
  } finally {
    byId("inspect").disabled = false;
  }
}

/** The address of the program: this page, and the code in its fragment, which no server is sent. */
async function share() {
  const url = new URL(location.pathname, location.href);
  url.hash = await asFragment(editor.source);
  history.replaceState(null, "", url);
  try {
    await navigator.clipboard.writeText(url.href);
    byId("share").textContent = "Link copied";
  } catch {
    byId("share").textContent = "The address is the link";
  }
  setTimeout(() => (byId("share").textContent = "Share"), 4000);
}

function download() {
  const url = URL.createObjectURL(new Blob([editor.source], { type: "text/x-python" }));
  el("a", { href: url, download: NAME }).click();
  URL.revokeObjectURL(url);
}

/** @param {string} name */
async function example(name) {
  editor.source = await text(new URL(`examples/${name}.py`, import.meta.url));
  byId("example").value = name;
  history.replaceState(null, "", `?${new URLSearchParams({ example: name })}`);
}

function remember() {
  try { localStorage.setItem(KEPT, editor.source); } catch {} // private windows
}

function remembered() {
  try { return localStorage.getItem(KEPT); } catch { return null; }
}

/** What the page opens with: a shared program, an example, the last one, or the first example. */
async function open() {
  const shared = await fromFragment(location.hash).catch((error) => void notice(error.message));
  if (shared) {
    editor.source = shared;
    byId("example").value = "";
    return "This program came with the link. Read it before you run it.";
  }
  const name = new URLSearchParams(location.search).get("example");
  if (name && !Object.hasOwn(EXAMPLES, name)) notice(`There is no example ${name}.`);
  const kept = name ? null : remembered();
  if (kept) editor.source = kept;
  else await example(name && Object.hasOwn(EXAMPLES, name) ? name : Object.keys(EXAMPLES)[0]);
  return AT_FIRST;
}

async function begin() {
  state.begun();
  byId("example").append(el("option", { value: "" }, "Your program"), ...Object.entries(EXAMPLES).map(([value, title]) => el("option", { value }, title)));
  byId("example").addEventListener("change", ({ target }) => target.value && example(target.value));
  byId("run").addEventListener("click", run);
  byId("stop").addEventListener("click", () => runner.stop());
  byId("inspect").addEventListener("click", inspect);
  byId("share").addEventListener("click", share);
  byId("download").addEventListener("click", download);
  addEventListener("hashchange", () => open().then(state.ready));
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "s") return;
    event.preventDefault();
    download();
  });
  byId("source").addEventListener("input", () => (byId("example").value = ""));
  const told = await open(), found = await check();
  obstacle = found.obstacle;
  if (obstacle) throw new Error(`${obstacle} Programs can be written and shared here, and run on a desktop`);
  if (found.warning) notice(found.warning);
  byId("run").disabled = false;
  state.ready(told);
  keep(BASE);
  if (plenty()) idle(() => runner.load().then(() => isAsked || told !== AT_FIRST || state.ready("Python is ready."), () => {}));
  globalThis.flambeauRunner = runner; // for the console
}

begin().catch(state.failed);
