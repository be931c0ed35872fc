// @ts-check
/** Turns index.html into timm's models on the visitor's GPU: `?model=convnext_atto` names one. */
import { start } from "../client.js";
import { fetched, manifestOf, text } from "../fetched.js";
import { notice } from "../notice.js";
import { keep } from "../offline.js";
import * as state from "../state.js";
import { Watch } from "../watch.js";
import { el, listing } from "../wgsl.js";

const BASE = new URL("../", import.meta.url).href;
const SAMPLE = new URL("../image/cat.jpg", import.meta.url).href;
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const asked = new URLSearchParams(location.search);
/** @type {any} */
let python = null;
/** @type {any} */
let picture = null; // what is drawn: an image
let built = "", busy = false;

function say(told, wrong = false) {
  byId("told").textContent = told;
  byId("told").classList.toggle("wrong", wrong);
}

/** The picture in the middle of a square of the model's size. */
function drawn(size) {
  const canvas = byId("picture"), pen = canvas.getContext("2d", { willReadFrequently: true });
  Object.assign(canvas, { width: size, height: size });
  const side = Math.min(picture.width, picture.height);
  const left = (picture.width - side) / 2, top = (picture.height - side) / 2;
  pen.drawImage(picture, left, top, side, side, 0, 0, size, size);
  return pen.getImageData(0, 0, size, size).data;
}

/** What a visitor asks for while something runs waits for its end. */
async function alone(work) {
  if (busy) return;
  busy = true;
  byId("run").disabled = true;
  try {
    await work();
  } catch (error) {
    say(`${error.name}: ${error.message}`, true);
  } finally {
    busy = false;
    byId("run").disabled = !python;
  }
}

async function run() {
  const name = byId("name").value.trim();
  if (name !== built) {
    say(`Building ${name}.`);
    built = "";
    shown(await python.call("page.build", name));
    built = name;
    history.replaceState(null, "", `?${new URLSearchParams({ model: name })}`); // a reload shows the same
  }
  say("Running. The first time, the GPU's driver compiles each kernel.");
  const pixels = drawn(Number(byId("picture").dataset.size));
  const came = await python.call("page.run", pixels);
  answered(came);
  say(`${(came.ms / 1000).toFixed(2)} s on ${python.adapter}.`);
}

function shown(facts) {
  byId("picture").dataset.size = facts.size;
  const rows = {
    Model: `${facts.name} (${facts.class})`, Parameters: facts.parameters.toLocaleString("en"),
    Picture: `${facts.size} × ${facts.size}`, Weights: facts.weights ? "of your file" : "random: seed 0",
  };
  byId("facts").replaceChildren(...Object.entries(rows).flatMap(([name, value]) => [el("dt", null, name), el("dd", null, value)]));
  byId("top5").replaceChildren();
  byId("kernels").replaceChildren();
}

function answered({ top, kernels, all }) {
  byId("top5").replaceChildren(...top.map(([name, part]) => el("li", null, `${name}: ${(100 * part).toFixed(2)} %`)));
  byId("counted").textContent = `${all} kernels run for one picture, of ${kernels.length} texts. flambeau inspect shows each`
    + " with its time and its lines of Python.";
  byId("kernels").replaceChildren(...kernels.map(({ name, times, wgsl }) => {
    const one = el("details", null, el("summary", null, el("b", null, `${times} ×`), name));
    one.addEventListener("toggle", () => one.children.length < 2 && one.append(listing(wgsl, `WGSL of ${name}`)));
    return el("li", null, one);
  }));
}

/** A picture becomes what the model sees, a file of weights the model's. */
async function taken(file) {
  if (file.type.startsWith("image/")) {
    picture = await createImageBitmap(file);
    return run();
  }
  if (!built) return say("Run a model first: the file is of its weights.", true);
  say(`Loading ${file.name}.`);
  await python.install("weights.safetensors", new Uint8Array(await file.arrayBuffer()));
  const { told, ...facts } = await python.call("page.load", "weights.safetensors");
  shown(facts);
  await run();
  say(`${byId("told").textContent} ${told}`);
}

async function sample() {
  const image = new Image();
  image.src = SAMPLE;
  await image.decode();
  picture = image;
  drawn(224);
}

function failed(error) {
  state.failed(error);
  byId("run").disabled = true;
}

async function begin(watch) {
  state.begun();
  if (asked.get("model")) byId("name").value = asked.get("model");
  byId("asked").addEventListener("submit", (event) => {
    event.preventDefault();
    alone(run);
  });
  byId("file").addEventListener("change", ({ target }) => target.files[0] && alone(() => taken(target.files[0])));
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("over");
  });
  addEventListener("dragleave", () => document.body.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    const [file] = event.dataTransfer?.files ?? [];
    if (file) alone(() => taken(file));
  });
  const source = text(new URL("page.py", import.meta.url));
  source.catch(() => {}); // told below
  await sample();
  const manifest = await manifestOf(BASE);
  if (!manifest.timm) throw new Error("This site was built without timm: pip install timm, and build it again");
  python = await start({
    base: BASE, onprogress: state.bytes("loading Python"), onstatus: state.told, onwarning: notice, onbroken: failed, watch,
  });
  globalThis.flambeau = python; // for the console: await flambeau.run("import flambeau as fb; ...")
  watch.moved("loading timm");
  state.told("loading timm");
  await python.unpack(await fetched(BASE, manifest.timm, manifest));
  await python.install("page.py", await source);
  watch.moved("importing timm");
  state.told("importing timm");
  const { version, names, count } = await python.run("import page\npage.names()");
  byId("names").replaceChildren(...names.map((value) => el("option", { value })));
  keep(BASE, [new URL(manifest.timm, BASE).href]);
  state.ready(`ready on ${python.adapter}`);
  say(`timm ${version}: ${count.toLocaleString("en")} names.`);
  byId("run").disabled = false;
}

const watch = new Watch(state.stalled);
begin(watch).catch(failed).finally(() => watch.end());
