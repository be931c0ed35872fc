// @ts-check
/** Turns index.html into the page: checks the browser, loads Python into the worker, and joins the three tabs to it. */
import { check } from "../check.js";
import { start } from "../client.js";
import { fetched, manifestOf, text } from "../fetched.js";
import { notice } from "../notice.js";
import { control, keep } from "../offline.js";
import * as state from "../state.js";
import { Watch } from "../watch.js";
import { Draw } from "./draw.js";
import { Kernels } from "./kernels.js";
import { Train } from "./train.js";

const BASE = new URL("../", import.meta.url).href;
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);

/** Without Python or a GPU the page can still be drawn on, and says what is wrong. */
function failed(error) {
  state.failed(error);
  byId("hint").textContent = "There is no network to read it.";
}

/** The tabs; the address says which is open: #train. Returns show(name). */
function tabs(onshow) {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[role=tab]")]);
  const nameOf = (tab) => tab.id.replace("tab-", "");
  const show = (name) => {
    const chosen = all.find((tab) => nameOf(tab) === name) ?? all[0];
    for (const tab of all) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
    }
    onshow(nameOf(chosen));
  };
  const choose = (name) => {
    if (location.hash !== `#${name}`) history.pushState(null, "", `#${name}`);
    show(name);
  };
  const named = () => show(location.hash.slice(1));
  const moves = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  all.forEach((tab, i) => {
    tab.addEventListener("click", () => choose(nameOf(tab)));
    tab.addEventListener("keydown", (event) => {
      if (!(event.key in moves)) return;
      event.preventDefault();
      const wanted = i + moves[event.key], last = all.length - 1;
      const next = all[Number.isFinite(wanted) ? (wanted + all.length) % all.length : wanted > 0 ? last : 0];
      next.focus();
      choose(nameOf(next));
    });
  });
  addEventListener("popstate", named);
  named();
  return choose;
}

/** What the page needs beside Python: its own Python, the manifest and the network's weights. */
async function assets() {
  const source = text(new URL("page.py", import.meta.url));
  source.catch(() => {}); // told below
  const manifest = await manifestOf(BASE);
  const weights = fetched(BASE, manifest.mnist.model, manifest).catch((error) => error);
  return { manifest, source: await source, weights: await weights };
}

async function begin(watch) {
  state.begun();
  const controlled = control(BASE); // at once: it starts while the browser is checked
  const draw = new Draw(notice), train = new Train(notice), kernels = new Kernels(notice);
  const show = tabs((name) => {
    if (name === "kernels") kernels.refresh();
    if (name === "train") train.paint();
    if (name === "draw") draw.ask();
  });
  const network = byId("network");
  network.addEventListener("change", () => draw.ask());
  train.onuse = () => {
    network.value = "trained";
    show("draw");
    byId("digit").focus();
  };
  const { obstacle } = await check();
  if (obstacle) throw new Error(obstacle);
  navigator.serviceWorker?.addEventListener("message", ({ data }) => {
    if (data.full) notice("The browser gives this site no more room: everything works, but is downloaded again next time.");
  });
  await controlled;
  const loading = assets();
  loading.catch(() => {}); // told below
  const python = await start({
    base: BASE,
    onprogress: state.bytes("loading Python"),
    onstatus: state.told,
    onwarning: notice,
    oncompile: ({ compiled, all }) => {
      if (!byId("progress").hidden) state.told(`compiling kernels: ${compiled} of ${all}`, compiled / all);
    },
    onbroken: failed,
    watch,
  });
  watch.moved("loading the page's own files");
  globalThis.flambeau = python; // for the console: await flambeau.run("import flambeau as fb; ...")
  const { manifest, source, weights } = await loading;
  python.on("recovered", (why) => {
    notice(`The GPU was lost (${why}) and is open again; what was on it was put back.`);
    state.ready(`ready on ${python.adapter}`);
  });
  python.on("gone", (why) => failed(new Error(why)));
  watch.moved("compiling kernels");
  await python.install("page.py", source);
  const predict = (pixels) => python.call("page.predict", pixels, network.value);
  try {
    if (weights instanceof Error) throw weights;
    await python.call("page.use", "shipped", new Uint8Array(weights));
    await python.call("page.predict", new Float32Array(784), "shipped"); // compiles
    draw.ready(predict);
  } catch (error) {
    notice(`The network of this page cannot be used: ${error.message}. Train or load one in the second tab.`);
    network.querySelector("[value=shipped]").disabled = true;
  }
  train.ready(python, manifest, BASE, () => {
    network.querySelector("[value=trained]").disabled = false;
    if (!draw.predict) network.value = "trained";
    draw.ready(predict);
  });
  kernels.ready(python);
  const later = navigator.connection?.saveData ? [] : [manifest.mnist.digits, ...manifest.reader]; // to train offline
  keep(BASE, later.map((name) => new URL(name, BASE).href));
  state.ready(`ready on ${python.adapter}`);
}

const watch = new Watch(state.stalled);
begin(watch).catch(failed).finally(() => watch.end());
