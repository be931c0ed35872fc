// @ts-check
/** Turns index.html into the first page: an exported network that reads what is drawn, and Python behind it. */
import { check } from "./check.js";
import { Code } from "./code.js";
import { idle, manifestOf, plenty } from "./fetched.js";
import { Draw } from "./mnist/draw.js";
import { readerOf } from "./mnist/reader.js";
import { SAMPLES } from "./mnist/samples.js";
import { notice } from "./notice.js";
import { control, keep } from "./offline.js";
import * as state from "./state.js";
import { Watch } from "./watch.js";

const BASE = new URL("./", import.meta.url).href;
const RUNS = 25, SHOWN = 5; // answers that are measured; the digit that the page draws at first
const CODE = ["program.js", "executor.js", "values.js"]; // what runs the network
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);

/** The median milliseconds of an answer. */
async function measured(predict) {
  const pixels = new Float32Array(784), times = [];
  for (let i = 0; i < RUNS; i++) {
    const begun = performance.now();
    await predict(pixels);
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[RUNS >> 1];
}

/** The bytes that crossed, or would have, for what reads digits. */
function bytesOf(names) {
  const wanted = new Set(names.map((name) => new URL(name, BASE).href));
  const all = performance.getEntriesByType("resource").filter(({ name }) => wanted.has(name));
  return all.reduce((sum, one) => sum + (one.encodedBodySize || one.decodedBodySize), 0);
}

function facts(adapter, milliseconds, bytes) {
  byId("adapter").textContent = adapter;
  byId("measured").textContent = `${milliseconds.toFixed(1)} ms, ${Math.round(1000 / milliseconds)} a second`;
  byId("loaded").textContent = `${Math.round(bytes / 1000)} kB of code and weights`;
}

/** What pip installs is this site's own wheel, by its address. */
function wheel() {
  const install = byId("install");
  install.textContent = `pip install ${new URL(install.dataset.wheel, BASE).href}`;
}

function copied() {
  const told = (text) => (byId("copy").textContent = text);
  navigator.clipboard.writeText(byId("install").textContent).then(() => told("Copied"), () => {
    getSelection().selectAllChildren(byId("install"));
    told("Selected: copy it by hand");
  });
}

/** The network: what this page is about, before anything else is loaded. */
async function reads(draw, watch) {
  const { obstacle, warning } = await check();
  if (obstacle) throw new Error(obstacle);
  if (warning) notice(warning);
  watch.moved("loading the network");
  state.told("loading the network");
  const manifest = await manifestOf(BASE);
  const onkernels = (ready, all) => {
    watch.moved("compiling kernels");
    state.told(`compiling kernels: ${ready} of ${all}`, ready / all);
  };
  const reader = await readerOf(BASE, manifest, onkernels);
  draw.ready(reader.predict);
  draw.play(SAMPLES[SHOWN]);
  facts(reader.adapter, await measured(reader.predict), bytesOf([...CODE, ...manifest.reader]));
  state.ready(`ready on ${reader.adapter}`);
  return manifest;
}

async function begin(watch) {
  state.begun();
  const draw = new Draw(notice), code = new Code(BASE);
  wheel();
  byId("copy").addEventListener("click", copied);
  const manifest = await reads(draw, watch);
  await control(BASE);
  keep(BASE);
  code.onstart = () => keep(BASE, [manifest.mnist.model, manifest.selftest].map((name) => new URL(name, BASE).href));
  if (plenty()) idle(() => code.load().catch(() => {})); // it says what is wrong
}

const watch = new Watch(state.stalled);
begin(watch).catch(state.failed).finally(() => watch.end());
