// @ts-check
/** Turns the list of kernels that ran into foldable rows of WGSL, those that a search leaves. */
import { copier, el, listing } from "../wgsl.js";

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);

/** @typedef {{name: string, template: string, groups: number[], wgsl: string}} Kernel */
/** @typedef {{title: string, kernels: {name: string, template: string, ms: number}[]}} Timed */

export class Kernels {
  /** @param {(text: string) => void} notice */
  constructor(notice) {
    this.notice = notice;
    /** @type {import("../client.js").Python | null} */
    this.python = null;
    /** @type {Kernel[]} */
    this.found = [];
    byId("refresh").addEventListener("click", () => this.refresh());
    byId("kernel-search").addEventListener("input", () => this.show());
    byId("time").addEventListener("click", () => this.time());
  }

  /** @param {import("../client.js").Python} python */
  ready(python) {
    this.python = python;
    if (!byId("panel-kernels").hidden) this.refresh();
  }

  async refresh() {
    if (!this.python) return;
    try {
      this.found = await this.python.call("page.kernels");
      this.show();
    } catch (error) {
      this.notice(`The kernels cannot be listed: ${error.message}`);
    }
  }

  /** What a digit and a training step take, kernel by kernel. */
  async time() {
    if (!this.python) return;
    byId("time").disabled = true;
    try {
      const groups = await this.python.call("page.timed");
      byId("times").replaceChildren(...groups.map(table));
      await this.refresh(); // what was compiled for it
    } catch (error) {
      this.notice(`The kernels cannot be timed: ${error.message}`);
    } finally {
      byId("time").disabled = false;
    }
  }

  show() {
    const words = byId("kernel-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const left = this.found.filter((k) => words.every((word) => `${k.name} ${k.template} ${k.wgsl}`.toLowerCase().includes(word)));
    byId("kernels").replaceChildren(...left.map(row));
    const these = words.length ? `${left.length} of the ${this.found.length} kernels that` : `${this.found.length} kernels`;
    byId("kernel-count").textContent = `${these} ran on this GPU since it was opened; each is fused from the operations that its name lists.`;
  }
}

/** @param {Timed} timed */
function table({ title, kernels }) {
  const all = kernels.reduce((sum, { ms }) => sum + ms, 0);
  const rows = kernels.map(({ name, template, ms }) => el("tr", {},
    el("td", {}, ms.toFixed(3)),
    el("td", {}, el("meter", { min: 0, max: all || 1, value: ms, "aria-label": `${name}, part of the whole` })),
    el("th", { scope: "row" }, name),
    el("td", {}, template)));
  const told = `${title}: ${kernels.length} kernels, ${all.toFixed(2)} ms`;
  return el("details", { open: true }, el("summary", {}, told), el("table", {}, el("tbody", {}, rows)));
}

/** @param {Kernel} kernel */
function row({ name, template, groups, wgsl }) {
  const fold = el("details", {}, el("summary", {}, el("b", {}, name), el("span", {}, `${count(groups)} · ${template}`)));
  fold.addEventListener("toggle", () => {
    if (!fold.open || fold.children.length > 1) return; // hundreds of lines: when asked for
    const text = listing(wgsl, `WGSL of ${name}`);
    fold.append(el("div", { class: "text" }, text, copier(wgsl, () => text)));
  });
  return el("li", {}, fold);
}

/**
 * [13, 1, 1] -> "13 groups": dims of one group go without saying.
 * @param {number[]} groups
 */
function count(groups) {
  const dims = groups.filter((n, i) => n > 1 || !i);
  return `${dims.join(" × ")} group${dims.length === 1 && dims[0] === 1 ? "" : "s"}`;
}
