/** Turns the list of kernels that ran into foldable rows of WGSL, those that a search leaves. */
import { copier, el, listing } from "../wgsl.js";

const byId = (id) => document.getElementById(id);

export class Kernels {
  constructor(notice) {
    this.notice = notice;
    this.python = null;
    this.found = [];
    byId("refresh").addEventListener("click", () => this.refresh());
    byId("kernel-search").addEventListener("input", () => this.show());
  }

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

  show() {
    const words = byId("kernel-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const left = this.found.filter((k) => words.every((word) => `${k.name} ${k.template} ${k.wgsl}`.toLowerCase().includes(word)));
    byId("kernels").replaceChildren(...left.map(row));
    const these = words.length ? `${left.length} of the ${this.found.length} kernels that` : `${this.found.length} kernels`;
    byId("kernel-count").textContent = `${these} ran on this GPU since it was opened; each is fused from the operations that its name lists.`;
  }
}

function row({ name, template, groups, wgsl }) {
  const fold = el("details", {}, el("summary", {}, el("b", {}, name), el("span", {}, `${count(groups)} · ${template}`)));
  fold.addEventListener("toggle", () => {
    if (!fold.open || fold.children.length > 1) return; // hundreds of lines: when asked for
    const text = listing(wgsl, `WGSL of ${name}`);
    fold.append(el("div", { class: "text" }, text, copier(wgsl, () => text)));
  });
  return el("li", {}, fold);
}

/** [13, 1, 1] -> "13 groups": dims of one group go without saying. */
function count(groups) {
  const dims = groups.filter((n, i) => n > 1 || !i);
  return `${dims.join(" × ")} group${dims.length === 1 && dims[0] === 1 ? "" : "s"}`;
}
