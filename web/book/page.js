// @ts-check
/**
 * Gives each cell of a chapter a button that runs it on the reader's GPU, with its output beside the printed one. The
 * cells share their names, as in a notebook: what was not run yet above a cell runs first.
 */
import { idle, manifestOf, plenty } from "../fetched.js";
import { asFragment } from "../playground/share.js";
import { Runner } from "../runner.js";
import { inspectorFrame, kernelList, Output } from "../shown.js";
import { el } from "../wgsl.js";

const BASE = new URL("../", import.meta.url).href;
const CACHE = "flambeau-1"; // of sw.js
const SPACE = location.pathname.slice(location.pathname.lastIndexOf("/") + 1).replace(".html", "");
/** @type {Cell[]} */
const cells = [];
let adapter = "the GPU of this device", queue = Promise.resolve();

class Cell {
  /** @param {Element} block the pre element of its code */
  constructor(block) {
    this.source = block.querySelector("code")?.textContent ?? "";
    this.number = cells.length + 1;
    this.ran = false;
    this.run = el("button", { type: "button", class: "run", onclick: () => ask(this) }, "Run");
    this.stop = el("button", { type: "button", hidden: true, onclick: () => runner.stop() }, "Stop");
    this.open = el("a", { href: "#", class: "open", onclick: (event) => this.share(event) }, "Open in the Playground");
    this.told = el("span", { class: "told", role: "status" });
    this.output = el("div", { class: "output", tabindex: "0", "aria-label": `Output of cell ${this.number} on your GPU` });
    this.made = el("div", { class: "made" });
    const printed = block.nextElementSibling?.querySelector("code.language-output") ? block.nextElementSibling : null;
    const mine = el("div", { class: "mine", hidden: true }, el("p", { class: "whose" }, "On your GPU"), this.output);
    this.mine = mine;
    const pair = el("div", { class: "pair" });
    block.after(el("div", { class: "bar" }, this.run, this.stop, this.open, this.told), pair, this.made);
    if (printed) pair.append(el("div", { class: "printed" }, el("p", { class: "whose" }, "Printed"), printed));
    pair.append(mine);
  }

  program() {
    const before = cells.slice(0, this.number - 1).map(({ source }) => source);
    return { source: this.source, name: `cell ${this.number}`, space: SPACE, fresh: false, before };
  }

  /** Whether it ended without an error. */
  async execute() {
    this.mine.hidden = false;
    this.made.replaceChildren();
    const output = new Output(this.output);
    this.run.disabled = true;
    this.stop.hidden = false;
    this.say("Running.");
    try {
      const ended = await runner.run(this.program(), (piece) => output.add(piece));
      this.ran = !ended.error && !ended.stopped;
      if (ended.error || ended.stopped || this.output.children.length) output.finish(ended);
      else this.output.append(el("p", { class: "told" }, "It prints nothing."));
      const count = ended.kernels.length;
      this.say(ended.stopped ? "Stopped." : `${(ended.ms / 1000).toFixed(2)} s on ${adapter}${count ? `, ${count} kernel${count > 1 ? "s" : ""}` : ""}`);
      if (count) this.kernels(ended.kernels);
      return this.ran;
    } catch (error) {
      this.say(error.message);
      return false;
    } finally {
      this.run.disabled = false;
      this.stop.hidden = true;
    }
  }

  /** @param {import("../runner.js").Kernel[]} kernels */
  kernels(kernels) {
    const frame = el("div"), open = el("button", { type: "button" }, "Run again in the inspector");
    open.addEventListener("click", async () => {
      open.disabled = true;
      try {
        frame.replaceChildren(inspectorFrame(BASE, await runner.inspect(this.program())));
      } catch (error) {
        frame.replaceChildren(el("p", { class: "told" }, error.message));
      }
      open.disabled = false;
    });
    this.made.append(el("details", {}, el("summary", {}, "Open the kernels"), el("ul", { class: "kernels" }, kernelList(kernels)), open, frame));
  }

  say(text) { this.told.textContent = text; }

  /** The chapter down to this cell, as a program. */
  async share(event) {
    event.preventDefault();
    const url = new URL("playground/", BASE);
    url.hash = await asFragment(cells.slice(0, this.number).map(({ source }) => source).join("\n\n"));
    window.open(url, "_blank", "noopener");
  }
}

const runner = new Runner(BASE, {
  say: (text) => cells.find((cell) => cell.run.disabled)?.say(text),
  onadapter: (name) => {
    adapter = name;
    banner.textContent = `Cells run on ${name}.`;
  },
  onempty: () => cells.forEach((cell) => (cell.ran = false)),
});

/** Run a cell after those above it that have not run. One cell runs at a time. */
function ask(cell) {
  cell.run.disabled = true;
  cell.say("Waiting for the cells above.");
  queue = queue.then(async () => {
    for (const one of cells.slice(0, cell.number - 1)) {
      if (one.ran) continue;
      if (!(await one.execute())) return cell.say(`Cell ${one.number} above did not end.`);
    }
    await cell.execute();
  }).finally(() => (cell.run.disabled = false));
  return queue;
}

const banner = el("p", { class: "adapter", role: "status" }, `Each cell runs in this page, on the GPU of this device. Python is loaded ${plenty() ? "while you read" : "at the first one"}.`);
for (const block of [...document.querySelectorAll("article pre")]) if (block.querySelector("code.language-python")) cells.push(new Cell(block));
document.querySelector("article h1")?.after(banner, el("p", {}, el("button", { type: "button", class: "run", onclick: () => ask(cells[cells.length - 1]) }, "Run all cells")));

/** Load Python while the visitor reads; over a slow connection only if an earlier visit left it in the cache. */
async function ahead() {
  if (!globalThis.caches || !navigator.gpu) return;
  if (plenty()) return void (await runner.load());
  const { stdlib } = await manifestOf(BASE), cache = await caches.open(CACHE);
  if (await cache.match(new URL(stdlib, BASE).href, { ignoreVary: true })) await runner.load();
}
idle(() => ahead().catch(() => {})); // a button says what is wrong
globalThis.flambeauRunner = runner; // for the console
