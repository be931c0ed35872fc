// @ts-check
/** Turns the second tab's buttons into training in the worker, and its messages into curves and numbers. */
import { fetched } from "../fetched.js";
import { confusion } from "./confusion.js";
import { percent } from "./draw.js";
import { webFolder } from "./folder.js";
import { plot, smoothed } from "./plot.js";

const LARGEST = 1_000_000; // bytes of a file of weights: the network has 6,000 numbers
const ACTIONS = ["stop", "reset", "load", "save", "folder"];
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const able = (id, can) => byId(id).setAttribute("aria-disabled", String(!can));

export class Train {
  constructor(notice) {
    this.notice = notice;
    this.state = "waiting"; // for Python; then idle, loading, running, paused or hidden (paused by a hidden tab)
    this.prepared = null;
    this.seen = []; // {step, loss, accuracy}
    this.tests = []; // [step, accuracy]
    this.end = 0;
    this.drawing = this.loaded = false;
    /** @type {any} what `ready` is given, and the rows of the table */
    this.python = this.manifest = this.rows = null;
    this.base = "";
    /** @type {() => void} there is a network of the visitor's own; it is to read what is drawn */
    this.ontrained = this.onuse = () => {};
    byId("training").addEventListener("submit", (event) => {
      event.preventDefault();
      this.press();
    });
    const pressed = { // disabled ones keep the focus, and do nothing
      stop: () => this.ask("stop", "stopping"), reset: () => this.reset(), save: () => this.save(),
      folder: () => this.folder(), load: () => byId("file").click(), "use-it": () => this.onuse(),
    };
    for (const [name, act] of Object.entries(pressed))
      byId(name).addEventListener("click", () => byId(name).ariaDisabled !== "true" && act());
    byId("file").addEventListener("change", () => this.load());
    document.addEventListener("visibilitychange", () => this.look());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    addEventListener("resize", () => this.paint());
  }

  /** Python is there; `ontrained` is called once there is a network of the visitor's own. */
  ready(python, manifest, base, ontrained) {
    Object.assign(this, { python, manifest, base, ontrained });
    python.on("step", (value) => this.step(value));
    python.on("tested", (value) => this.tested(value));
    this.rows = byId("numbers");
    for (const id of ["train", ...ACTIONS]) byId(id).disabled = false; // from now on by aria-disabled
    this.enter("idle");
  }

  /** What happens now; `aloud` where it is not one of many steps. */
  say(text, aloud = true) {
    byId("train-status").textContent = text;
    if (aloud) byId("train-spoken").textContent = text;
  }

  enter(state) {
    this.state = state;
    const runs = ["running", "paused", "hidden"].includes(state), named = { running: "Pause", paused: "Resume", hidden: "Resume" };
    byId("train").textContent = named[state] ?? "Train";
    able("train", !["waiting", "loading"].includes(state));
    able("stop", runs);
    for (const id of ["reset", "load"]) able(id, state === "idle");
    for (const id of ["save", "folder"]) able(id, (this.prepared || this.loaded) && state !== "loading");
    for (const id of ["steps", "rate"]) byId(id).disabled = runs;
    byId("train-progress").hidden = !runs && state !== "loading";
  }

  press() {
    const acts = { idle: () => this.train(), running: () => this.pause("paused", "paused") };
    if (byId("train").ariaDisabled !== "true") (acts[this.state] ?? (() => this.resume()))();
  }

  async ask(what, text) {
    this.say(text);
    await this.python.call("page.ask", what).catch((error) => this.notice(error.message));
  }

  pause(state, text) {
    this.enter(state);
    this.ask("pause", `${text} at step ${this.seen.at(-1)?.step ?? 0}`);
  }

  resume() {
    this.enter("running");
    this.ask("resume", "going on");
  }

  /** Browsers starve hidden tabs: training waits until it is seen again. */
  look() {
    if (document.hidden && this.state === "running") this.pause("hidden", "paused while this tab is hidden,");
    else if (!document.hidden && this.state === "hidden") this.resume();
  }

  /** Get the digits, once. */
  async prepare() {
    const name = this.manifest.mnist.digits, total = this.manifest.files[name].bytes;
    let loaded = 0;
    const archive = await fetched(this.base, name, this.manifest, (bytes) => {
      loaded = Math.min(total, loaded + bytes);
      byId("train-progress").value = loaded / total;
      this.say(`loading digits: ${(loaded / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`, false);
    });
    this.say("unpacking the digits");
    await this.python.call("page.prepare", new Uint8Array(archive));
  }

  async train() {
    const steps = byId("steps").valueAsNumber, rate = byId("rate").valueAsNumber;
    this.enter("loading");
    try {
      await (this.prepared ??= this.prepare());
    } catch (error) {
      this.prepared = null;
      this.enter("idle");
      this.say("The digits are not there.");
      return this.notice(`The digits cannot be loaded: ${error.message}`);
    }
    this.say("compiling the training step");
    this.ontrained();
    byId("use").hidden = false;
    this.enter("running");
    this.look();
    try {
      const outcome = await this.python.call("page.train", steps, rate);
      const [step, accuracy] = this.tests.at(-1) ?? [0, 0];
      const tested = step === this.seen.at(-1)?.step ? `: ${percent(accuracy)} of the test digits are read rightly` : "";
      this.say(`${outcome} at step ${this.seen.at(-1)?.step ?? 0}${tested}`);
    } catch (error) {
      this.say(`stopped: ${error.message}`);
    }
    this.enter("idle");
  }

  step({ step, loss, right, steps, end }) {
    if (this.seen.length && step <= this.seen.at(-1).step) { // the GPU was lost: back to what was kept
      const kept = step - steps;
      this.seen = this.seen.filter((one) => one.step <= kept);
      this.tests = this.tests.filter(([at]) => at <= kept);
      while (this.rows.firstElementChild && Number(this.rows.firstElementChild.firstElementChild.textContent) > kept)
        this.rows.firstElementChild.remove();
    }
    this.end = end;
    this.seen.push({ step, loss, right });
    this.row(step, loss.toFixed(4), percent(right), "");
    byId("train-progress").value = step / end;
    if (this.state === "running") this.say(`step ${step} of ${end}`, false);
    this.paint();
  }

  /** The test digits were read: a dot, a number in the last row, and the grid. */
  tested({ step, accuracy, counts }) {
    this.tests.push([step, accuracy]);
    if (!step) this.row(0, "–", "–", "");
    this.rows.firstElementChild?.lastElementChild.replaceChildren(percent(accuracy));
    confusion(byId("confusion"), counts);
    byId("train-spoken").textContent = `Step ${step}: ${percent(accuracy)} of the test digits are read rightly.`;
    this.paint();
  }

  row(...texts) {
    const row = document.createElement("tr");
    for (const text of texts) row.append(cell(text));
    this.rows.prepend(row);
  }

  /** Draw both curves, at most once a frame, and not where nobody sees them. */
  paint() {
    if (this.drawing || byId("panel-train").hidden) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      const { seen, tests, end } = this, last = seen.at(-1);
      byId("loss").textContent = last ? last.loss.toFixed(3) : "–";
      byId("accuracy").textContent = tests.length ? percent(tests.at(-1)[1]) : last ? percent(last.right) : "–";
      const high = Math.max(0.5, Math.ceil(2 * Math.max(...seen.map((one) => one.loss), 0)) / 2);
      const losses = seen.map((one) => [one.step, one.loss]), right = seen.map((one) => [one.step, one.right]);
      plot(byId("loss-curve"), [
        { points: losses, colour: "--bar" },
        { points: smoothed(losses), colour: "--flame", wide: 2 },
      ], { top: Math.min(high, 4), label: (value) => value.toFixed(1), end });
      plot(byId("accuracy-curve"), [
        { points: right, colour: "--bar" },
        { points: tests, colour: "--flame", wide: 2, dots: true },
      ], { top: 1, label: (value) => `${Math.round(100 * value)} %`, end });
    });
  }

  forget() {
    this.seen = [];
    this.tests = [];
    this.end = 0;
    this.rows.replaceChildren();
    byId("confusion").replaceChildren();
    this.paint();
  }

  async reset() {
    try {
      await this.python.call("page.start_over");
      this.forget();
      this.say("new weights: nothing is learned yet");
    } catch (error) {
      this.notice(`Starting over failed: ${error.message}`);
    }
  }

  async save() {
    try {
      offer(await this.python.call("page.file"), "mnist-trained.safetensors");
    } catch (error) {
      this.notice(`The weights cannot be saved: ${error.message}`);
    }
  }

  async folder() {
    try {
      const files = await webFolder(this.base, this.manifest, await this.python.call("page.file"));
      offer(await this.python.call("page.packed", files), "my-digits.zip");
    } catch (error) {
      this.notice(`The folder cannot be made: ${error.message}`);
    }
  }

  async load() {
    const [file] = byId("file").files;
    if (!file) return;
    byId("file").value = ""; // so that the same file may be chosen again
    if (file.size > LARGEST)
      return this.notice(`${file.name}: it holds another network, of ${(file.size / 1e6).toFixed(1)} MB: this network's files`
        + " have less than 1 MB");
    try {
      await this.python.call("page.use", "trained", new Uint8Array(await file.arrayBuffer()));
      this.forget();
      this.loaded = true;
      this.ontrained();
      byId("use").hidden = false;
      this.enter(this.state);
      this.say(`loaded ${file.name}: use it, or train it further`);
    } catch (error) {
      this.notice(`${file.name}: ${error.message}`);
    }
  }
}

/** Let the browser save bytes as a file. */
function offer(data, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function cell(text) {
  const made = document.createElement("td");
  made.textContent = text;
  return made;
}
