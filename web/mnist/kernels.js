/** Turns the list of kernels that ran into foldable rows of WGSL, each with a button that copies it. */

const byId = (id) => document.getElementById(id);

export class Kernels {
  constructor(notice) {
    this.notice = notice;
    this.python = null;
    byId("refresh").addEventListener("click", () => this.refresh());
  }

  ready(python) {
    this.python = python;
    if (!byId("panel-kernels").hidden) this.refresh();
  }

  async refresh() {
    if (!this.python) return;
    try {
      const found = await this.python.call("page.kernels");
      byId("kernels").replaceChildren(...found.map((kernel) => this.row(kernel)));
      byId("kernel-count").textContent = `${found.length} kernels ran on this GPU since it was opened; each is fused from`
        + " the operations that its name lists.";
    } catch (error) {
      this.notice(`The kernels cannot be listed: ${error.message}`);
    }
  }

  row({ name, template, groups, wgsl }) {
    const item = document.createElement("li"), fold = document.createElement("details");
    const head = document.createElement("summary"), title = document.createElement("b"), more = document.createElement("span");
    title.textContent = name;
    more.textContent = `${count(groups)} · ${template}`;
    head.append(title, more);
    fold.append(head);
    fold.addEventListener("toggle", () => {
      if (fold.open && fold.children.length === 1) fold.append(this.text(name, wgsl)); // hundreds of lines: when asked for
    });
    item.append(fold);
    return item;
  }

  text(name, wgsl) {
    const box = document.createElement("div"), copy = document.createElement("button"), text = document.createElement("pre");
    box.className = "text";
    text.textContent = wgsl;
    text.tabIndex = 0;
    text.setAttribute("aria-label", `WGSL of ${name}`);
    copy.textContent = "Copy";
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(wgsl);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
        copy.textContent = "Selected: copy it by hand";
      }
    });
    box.append(text, copy);
    return box;
  }
}

/** [13, 1, 1] -> "13 groups": dims of one group go without saying. */
function count(groups) {
  const dims = groups.filter((n, i) => n > 1 || !i);
  return `${dims.join(" × ")} group${dims.length === 1 && dims[0] === 1 ? "" : "s"}`;
}
