// @ts-check
/** Turns index.html into the page: the exported policy, which needs no Python, and the agent that learns in the worker. */
import { check } from "../check.js";
import { start } from "../client.js";
import { fetched, manifestOf, text } from "../fetched.js";
import { plot } from "../mnist/plot.js";
import { notice } from "../notice.js";
import { control, keep } from "../offline.js";
import { load } from "../program.js";
import * as state from "../state.js";
import { Watch } from "../watch.js";
import { Drive } from "./drive.js";
import { drawCart } from "./scene.js";

const BASE = new URL("../", import.meta.url).href;
const MOST = 500, SECONDS = 0.02; // steps of an episode, and of a step
const OWN = { // in the folder that is downloaded: in the site
  "index.html": "cartpole/own/folder.html", "page.js": "cartpole/own/page.js", "drive.js": "cartpole/drive.js",
  "scene.js": "cartpole/scene.js", "index.js": "program.js",
};
const IMPORTED = /(?:from |import\()"\.\/([\w.]+)"/g;
/** @type {(source: any, options?: object) => Promise<any>} */
const opened = load;
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const able = (id, can) => byId(id).setAttribute("aria-disabled", String(!can));

const drive = new Drive(byId("driving"), (steps) => (byId("balanced").textContent = `${(steps * SECONDS).toFixed(1)} s`),
  (error) => notice(error.message));
/** @type {any} */
let python = null;
/** @type {any} the site's files by name, and those of the program without its weights */
let manifest = null, program = null;
/** @type {Uint8Array | null} the weights of the policy that was learned here */
let learned = null;
let running = false, painting = false, recent = 0; // the mean of the last 64 episodes
/** @type {{iteration: number, mean: number | null}[]} */
let seen = [];

/** The drawn cart: the states of the last iteration, played until the next one comes. */
const played = { states: /** @type {number[][][]} */ ([]), at: 0, begin: 0, milliseconds: 640 };

function failed(error) {
  state.failed(error);
  byId("drive-told").textContent = "";
}

// --- The exported policy ---

/** The files of the program by name, with these weights in place of its own. */
async function filesOf(weights) {
  program ??= Object.fromEntries(await Promise.all(manifest.cartpole.map(async (name) =>
    [name.split("/").pop(), new Uint8Array(await fetched(BASE, name, manifest))])));
  return weights ? { ...program, "weights.safetensors": weights } : program;
}

async function balance() {
  const weights = byId("policy").value === "trained" ? learned : null;
  const found = await opened({ ...(await filesOf(weights)) });
  await found.prepare();
  drive.use(found);
  byId("drive-told").textContent = `on ${found.adapter}`;
  for (const id of ["left", "right", "folder"]) byId(id).disabled = false;
}

async function folder() {
  const files = { ...(await filesOf(byId("policy").value === "trained" ? learned : null)) };
  const add = async (name, from) => {
    files[name] = await text(new URL(from, BASE));
    if (from !== "program.js") return;
    await Promise.all([...files[name].matchAll(IMPORTED)].map(([, module]) => add(module, module)));
  };
  await Promise.all(Object.entries(OWN).map(([name, from]) => add(name, from)));
  offer(await python.call("page.packed", files), "my-pole.zip");
}

// --- Learning ---

function say(what, aloud = true) {
  byId("told").textContent = what;
  if (aloud) byId("told-spoken").textContent = what;
}

function entered(now) {
  running = now;
  able("learn", !now);
  able("stop", now);
  able("reset", !now);
}

async function learn() {
  entered(true);
  say("compiling the iteration: the first one takes a while");
  played.begin = performance.now();
  requestAnimationFrame(paint);
  try {
    const outcome = await python.call("page.learn");
    learned = await python.call("page.policy");
    byId("policy").querySelector("[value=trained]").disabled = false;
    byId("policy").value = "trained";
    await balance();
    const { iteration } = seen.at(-1) ?? { iteration: 0 }, steps = recent.toFixed(0);
    say(outcome === "solved" ? `Solved after ${iteration} iterations: the last 64 episodes have ${steps} of ${MOST} steps. The policy balances below, without Python.`
      : `Stopped after ${iteration} iterations: the last 64 episodes have ${steps} of ${MOST} steps. The policy balances below as well as it can.`);
  } catch (error) {
    say(`Stopped: ${error.message}`);
  }
  entered(false);
}

function iterated({ iteration, steps, loss, states, ...more }) {
  const mean = more.mean ?? null; // None of Python is undefined here: no episode ended
  const now = performance.now();
  if (seen.length) played.milliseconds = Math.min(5000, Math.max(200, now - played.begin));
  Object.assign(played, { states, begin: now });
  seen.push({ iteration, mean });
  recent = more.recent;
  const told = mean === null ? "–" : mean.toFixed(0);
  row(iteration, steps.toLocaleString("en"), told, loss.toFixed(3));
  byId("return").textContent = recent.toFixed(0);
  say(`Iteration ${iteration}, ${steps.toLocaleString("en")} steps: a pole stays up for ${recent.toFixed(0)} of ${MOST} steps`,
    iteration % 10 === 1);
  curve();
}

function row(...texts) {
  const line = document.createElement("tr");
  for (const one of texts) line.append(Object.assign(document.createElement("td"), { textContent: one }));
  byId("numbers").prepend(line);
}

function curve() {
  const points = seen.flatMap(({ iteration, mean }) => (mean === null ? [] : [[iteration, mean]]));
  plot(byId("returns"), [{ points, colour: "--flame", wide: 2 }], { top: MOST, label: String, end: 10 });
}

/** Draw the cart as it was in the last iteration, as fast as iterations come. */
function paint(now) {
  const { states, begin, milliseconds } = played;
  if (states.length) {
    const part = Math.max(0, (now - begin) / milliseconds); // a frame may be older than the states
    const at = Math.min(states.length - 1, Math.floor(part * states.length));
    const numbers = states[at].map(([value]) => value);
    drawCart(byId("learning"), numbers[0], numbers[2]);
    byId("episode").textContent = `step ${numbers[4]} of its episode`;
  }
  if (running) requestAnimationFrame(paint);
}

async function reset() {
  await python.call("page.prepare");
  seen = [];
  played.states = [];
  byId("numbers").replaceChildren();
  byId("return").textContent = byId("episode").textContent = "–";
  drawCart(byId("learning"), 0, 0.05);
  curve();
  say("A new agent: nothing is learned yet.");
}

/** Let the browser save bytes as a file. */
function offer(data, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type: "application/zip" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Draw all again: the window or the colours have changed. */
function redraw() {
  if (painting) return;
  painting = true;
  requestAnimationFrame((now) => {
    painting = false;
    drive.draw();
    if (played.states.length) paint(now);
    else drawCart(byId("learning"), 0, 0.05);
    curve();
  });
}

function buttons() {
  const acts = { learn, stop: () => python.call("page.stop"), reset };
  for (const [name, act] of Object.entries(acts))
    byId(name).addEventListener("click", () =>
      byId(name).ariaDisabled !== "true" && act()?.catch((error) => notice(error.message)));
  byId("left").addEventListener("click", () => drive.push(-1));
  byId("right").addEventListener("click", () => drive.push(1));
  byId("policy").addEventListener("change", () => balance().catch((error) => notice(error.message)));
  byId("folder").addEventListener("click", () =>
    folder().catch((error) => notice(`The folder cannot be made: ${error.message}`)));
}

async function begin(watch) {
  state.begun();
  buttons();
  redraw();
  addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  const { obstacle } = await check();
  if (obstacle) throw new Error(obstacle);
  await control(BASE);
  manifest = await manifestOf(BASE);
  const balancing = balance().catch((error) => notice(`The exported policy cannot be run: ${error.message}`));
  const source = text(new URL("page.py", import.meta.url));
  source.catch(() => {}); // told below
  python = await start({
    base: BASE, onprogress: state.bytes("loading Python"), onstatus: state.told, onwarning: notice, onbroken: failed, watch,
  });
  globalThis.flambeau = python; // for the console: await flambeau.run("import flambeau as fb; ...")
  watch.moved("loading the page's own files");
  await python.install("page.py", await source);
  python.on("iteration", iterated);
  await python.call("page.prepare");
  await balancing;
  keep(BASE, manifest.cartpole.map((name) => new URL(name, BASE).href));
  for (const id of ["learn", "stop", "reset"]) byId(id).disabled = false;
  entered(false);
  state.ready(`ready on ${python.adapter}`);
}

const watch = new Watch(state.stalled);
begin(watch).catch(failed).finally(() => watch.end());
