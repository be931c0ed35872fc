// @ts-check
/** Turns the kernels of a prediction and of a training step into the inspector's table, and a row of it into its WGSL. */
import { kernelTable, nextOrder, sortRows } from "../kernel_table.js";
import { copier, el, listing } from "../wgsl.js";

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const TIMED = ["id", "name", "seconds", "share", "speed", "rate", "template"], UNTIMED = ["id", "name", "template"];

/** @typedef {{name: string, template: string, seconds: number, reads: number, writes: number, flops: number, wgsl: string}} Kernel */
/** @typedef {{title: string, runs: number, why?: string, kernels: Kernel[], order: {sort: string, down: boolean}, open: number}} Call */

export class Kernels {
  /** @param {(text: string) => void} notice */
  constructor(notice) {
    this.notice = notice;
    /** @type {import("../client.js").Python | null} */
    this.python = null;
    /** @type {Call[]} */
    this.calls = [];
    byId("kernel-search").addEventListener("input", () => this.show());
    byId("time").addEventListener("click", () => this.refresh(true));
  }

  /** @param {import("../client.js").Python} python */
  ready(python) {
    this.python = python;
    if (!byId("panel-kernels").hidden) this.refresh();
  }

  /**
   * What a digit and a training step take, kernel by kernel, measured now; without times, what ran so far.
   * @param {boolean} aloud whether a notice says why there are no times
   */
  async refresh(aloud = false) {
    if (!this.python || byId("time").disabled) return;
    byId("time").disabled = true;
    byId("kernel-count").textContent = "The kernels are being timed.";
    try {
      this.take(await this.python.call("page.timed"), { sort: "seconds", down: true });
    } catch (error) {
      const why = `The kernels cannot be timed: ${error.message}`;
      if (aloud) this.notice(why);
      await this.list(this.python, why);
    } finally {
      byId("time").disabled = false;
    }
  }

  /**
   * @param {import("../client.js").Python} python
   * @param {string} why there are no times
   */
  async list(python, why) {
    try {
      const title = "Kernels that ran on this GPU since it was opened";
      this.take([{ title, why, runs: 0, kernels: await python.call("page.kernels") }], { sort: "id", down: false });
    } catch (error) {
      this.notice(`The kernels cannot be listed: ${error.message}`);
    }
  }

  /**
   * @param {Omit<Call, "order" | "open">[]} calls
   * @param {Call["order"]} order
   */
  take(calls, order) {
    this.calls = calls.map((call) => ({ ...call, order, open: -1 }));
    this.show();
  }

  show() {
    const words = byId("kernel-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (/** @type {Kernel} */ k) => words.every((/** @type {string} */ word) => `${k.name} ${k.template} ${k.wgsl}`.toLowerCase().includes(word));
    byId("kernels").replaceChildren(...this.calls.map((call) => this.table(call, fits)));
    const all = this.calls.flatMap((call) => call.kernels), left = all.filter(fits).length;
    const these = words.length ? `${left} of the ${all.length} kernels` : `${all.length} kernels`;
    byId("kernel-count").textContent = `${these}; each is fused from the operations that its name lists. A click on a name shows its WGSL.`;
  }

  /**
   * @param {Call} call
   * @param {(kernel: Kernel) => boolean} fits
   */
  table(call, fits) {
    const total = call.kernels.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0) || 1e-12;
    const rows = call.kernels.map(({ name, template, seconds = 0, reads, writes, flops }, id) => ({
      id, name, template, seconds, share: seconds / total, speed: (reads + writes) / (seconds || 1e-12), rate: flops / (seconds || 1e-12),
    })).filter(({ id }) => fits(call.kernels[id]));
    const update = (/** @type {Partial<Call>} */ change) => { Object.assign(call, change); this.show(); };
    const table = kernelTable(sortRows(rows, call.order), {
      columns: call.runs ? TIMED : UNTIMED, ...call.order, now: call.open,
      onsort: (name) => update({ order: nextOrder(call.order, name) }),
      onopen: (id) => update({ open: id === call.open ? -1 : id }),
    });
    if (call.open >= 0 && fits(call.kernels[call.open])) unfold(table, call, () => update({ open: -1 }));
    const flops = call.kernels.reduce((sum, kernel) => sum + kernel.flops, 0);
    const speed = `, ${(1e3 * total).toFixed(2)} ms, ${(flops / total / 1e9).toPrecision(3)} GFLOP/s`;
    const told = `${call.title}: ${call.kernels.length} kernels${call.runs ? speed : ""}`;
    const how = call.why ?? `Warm calls on ${this.python?.adapter}: the mean of ${call.runs}, after one that compiled; each kernel timed by itself.`;
    return el("section", {}, el("h2", {}, told), el("p", { class: "soft" }, how), table);
  }
}

/**
 * Put the WGSL of the open kernel below its row.
 * @param {HTMLElement} table
 * @param {Call} call
 * @param {() => void} close
 */
function unfold(table, call, close) {
  const row = table.querySelector("tr.now"), kernel = call.kernels[call.open];
  if (!row) return;
  const text = listing(kernel.wgsl, `WGSL of ${kernel.name}`);
  const buttons = el("div", { class: "row" }, copier(kernel.wgsl, () => text), el("button", { type: "button", onclick: close }, "Close"));
  row.after(el("tr", { class: "text" }, el("td", { colspan: TIMED.length }, buttons, text)));
}
