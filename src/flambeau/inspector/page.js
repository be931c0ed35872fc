/** Draws an inspection: kernels by time, the model, lines of Python, time and memory, roofline; and one kernel at a time. */

const byId = (id) => document.getElementById(id);
const TABS = ["kernels", "model", "lines", "time", "roof"];
const FIRST = 300; // rows that are drawn before somebody asks for more
const LISTED = 60; // ops or kernels that a branch lists before somebody asks for more
const state = { tab: "kernels", kernel: -1, sort: "seconds", down: true, query: "", op: -1, window: null, site: -1 };
let D, server, of;

// --- numbers as text ---

const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
function si(value, unit) {
  for (const [size, prefix] of PREFIXES) if (value >= size) return `${+(value / size).toPrecision(3)} ${prefix}${unit}`;
  return `${+value.toPrecision(3)} ${unit}`;
}
const time = shortTime;
const shape = (op) => `${op.dtype}[${op.shape.join(", ")}]`;
const fileName = (path) => path.split(/[\\/]/).pop();

// --- what belongs together ---

/** Tables that go the other way: from layers, lines and ops to kernels. */
function related() {
  const each = (k) => k.seconds / Math.max(k.runs, 1);
  const found = {
    total: D.kernels.reduce((sum, k) => sum + k.seconds, 0) || 1e-12,
    kernelsOfOp: new Map(), opsOfLayer: new Map(), layersIn: new Map(), each,
    secondsOfLayer: D.layers.map(() => 0), text: [], family: D.kernels.map(family),
  };
  const add = (map, key, value) => map.get(key)?.push(value) ?? map.set(key, [value]);
  D.kernels.forEach((k, i) => k.ops.forEach((o) => add(found.kernelsOfOp, o, i)));
  D.ops.forEach((op, i) => add(found.opsOfLayer, op.layer, i));
  D.layers.forEach((layer, i) => add(found.layersIn, layer.parent, i));
  D.kernels.forEach((k) => {
    for (let l = layerOf(k); l >= 0; l = D.layers[l].parent) found.secondsOfLayer[l] += k.seconds;
  });
  const files = D.shaders.map((s) => new Set(s.places.flat().map((p) => D.places[p].file)));
  found.text = D.kernels.map((k) => {
    const words = [k.name, D.shaders[k.shader].template, ...files[k.shader], k.ends];
    for (const o of new Set([k.head, ...k.ops])) {
      const op = D.ops[o];
      if (!op) continue;
      words.push(op.name, op.call, D.layers[op.layer]?.name ?? "");
      const site = D.sites[op.site];
      if (site) words.push(`${fileName(site.file)}:${site.line}`, site.text);
    }
    return [...new Set(words)].join("\n").toLowerCase();
  });
  return found;
}
function layerOf(k) { return k.head >= 0 ? D.ops[k.head].layer : -1; }
function siteOf(k) { return k.head >= 0 ? D.sites[D.ops[k.head].site] : undefined; }
function family(k) {
  const folder = D.shaders[k.shader].template.split("/")[0];
  return ["contract", "reduce", "map"].includes(folder) ? folder : "other";
}
/** The op whose gradient another is part of, and where it stands; null of what is no gradient. */
function forward(op) {
  const ahead = D.ops[op?.gradient_of];
  return ahead ? [el("span", { class: "soft" }, `gradient of ${ahead.name}`), ...(D.sites[ahead.site] ? [", ", lineLink(ahead.site)] : [])] : null;
}
function layerName(op) {
  const layer = D.layers[op?.layer];
  if (!layer) return "";
  return op.gradient_of >= 0 ? `${layer.name} (gradient)` : layer.name;
}
function bound(k) {
  return D.copy && D.fma ? Math.max((k.reads + k.writes) / D.copy, k.flops / D.fma) : 0;
}
/** Whether a kernel is of what is searched for: pictures ask it of every kernel at every frame. */
function matches(i) {
  if (searched.query !== state.query) searched = { query: state.query, found: matching() };
  return searched.found[i];
}
let searched = { query: null, found: [] };
function matching() {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = D.shaders.map((s) => (words.length ? s.wgsl.toLowerCase() : ""));
  return D.kernels.map((k, i) => words.every((w) => of.text[i].includes(w) || (w.length > 3 && texts[k.shader].includes(w))));
}

// --- the kernels ---

const KERNEL_COLUMNS = ["id", "name", "seconds", "share", "speed", "rate", "bound", "layer", "line"];
function siteText(k) {
  const site = siteOf(k);
  return site ? `${fileName(site.file)}:${site.line}` : "";
}
function kernelRow(k, id) {
  const each = of.each(k) || 1e-12;
  return { id, name: k.name, seconds: k.seconds, share: k.seconds / of.total, speed: (k.reads + k.writes) / each, rate: k.flops / each,
    bound: bound(k) / each, layer: layerName(D.ops[k.head]), line: siteText(k) };
}
function sorted() { return sortRows(D.kernels.map(kernelRow).filter(({ id }) => matches(id)), state); }
function drawKernels(all) {
  const rows = sorted(), shown = all ? rows : rows.slice(0, FIRST);
  const onsort = (name) => { Object.assign(state, nextOrder(state, name)); draw(); };
  const table = kernelTable(shown, { columns: KERNEL_COLUMNS, ...state, now: state.kernel, plain: shown.length > FIRST, onsort, onopen: open });
  const more = rows.length > shown.length && el("p", {}, el("button", { onclick: () => view(drawKernels(true)) }, `Show all ${rows.length}`));
  const found = state.query && el("p", { class: "soft" }, `${rows.length} of ${D.kernels.length} kernels`);
  return [...drawParts(), found, table, more];
}

// --- trees: the model, and the lines of Python ---

function branch({ name, note, seconds, children, action, now, isOpen }) {
  const item = el("li", { class: `${action ? "pick" : ""} ${now ? "now" : ""}` });
  const fold = children && el("button", { class: "fold", "aria-expanded": "false", "aria-label": `Open ${name}` }, "▸");
  const label = action ? el("button", { class: "link name", onclick: action }, name) : el("span", { class: "name" }, name);
  item.append(el("div", { class: "row" }, fold || el("span", { class: "fold" }), label, note && el("span", { class: "soft" }, note),
    seconds > 0 && el("span", { class: "share", style: { width: `${4 * seconds / of.total}rem` } }), seconds > 0 && el("span", { class: "n" }, time(seconds))));
  let list = null;
  const toggle = () => {
    if (list) { list.remove(); list = null; } else { list = el("ul", {}); fill(list, children(), 0); item.append(list); }
    fold.textContent = list ? "▾" : "▸";
    fold.setAttribute("aria-expanded", String(!!list));
  };
  if (fold) {
    fold.addEventListener("click", toggle);
    if (!action) label.addEventListener("click", toggle);
    if (isOpen) toggle();
  }
  return item;
}
/** Some of the branches, and a button for the rest: a branch may have thousands. */
function fill(list, branches, from) {
  list.append(...branches.slice(from, from + LISTED).map(branch));
  const left = branches.length - from - LISTED;
  if (left > 0) {
    const more = el("li", {}, el("button", { onclick: () => { more.remove(); fill(list, branches, from + LISTED); } }, `${left} more`));
    list.append(more);
  }
}
function kernelBranch(i) {
  const k = D.kernels[i];
  return { name: k.name, note: `kernel ${i}`, seconds: k.seconds, action: () => open(i), now: i === state.kernel };
}
function opBranch(o) {
  const op = D.ops[o], kernels = of.kernelsOfOp.get(o) ?? [];
  const note = `${shape(op)}${op.gradient_of >= 0 ? ` gradient of ${D.ops[op.gradient_of].name}` : ""}`;
  return { name: op.name, note, children: kernels.length ? () => kernels.map(kernelBranch) : null };
}
function isShown(o) {
  return !["movement", "source", "leaf", "composite"].includes(D.ops[o].kind) && (of.kernelsOfOp.get(o) ?? []).some(matches);
}
function layerBranch(l) {
  const inside = () => [
    ...(of.layersIn.get(l) ?? []).filter(hasMatch).map(layerBranch), ...(of.opsOfLayer.get(l) ?? []).filter(isShown).map(opBranch),
  ];
  const layer = D.layers[l], isOpen = layer.parent < 0 || !!state.query;
  return { name: layer.name, note: layer.kind, seconds: of.secondsOfLayer[l], children: inside, isOpen: isOpen && layer.kind !== "" };
}
function hasMatch(l) {
  return (of.opsOfLayer.get(l) ?? []).some(isShown) || (of.layersIn.get(l) ?? []).some(hasMatch);
}
function drawModel() {
  const tops = (of.layersIn.get(-1) ?? []).filter(hasMatch).map(layerBranch);
  const rest = (of.opsOfLayer.get(-1) ?? []).filter(isShown);
  if (rest.length) tops.push({ name: "outside of layers", note: `${rest.length} ops`, children: () => rest.map(opBranch) });
  const list = el("ul", { class: "tree" });
  fill(list, tops, 0);
  return [el("p", { class: "soft" }, "Layers, their ops, and the kernels that compute these. A layer's time is that of its kernels."), list];
}
function drawLines() {
  const lines = new Map();
  D.kernels.forEach((k, i) => {
    if (!matches(i)) return;
    for (const o of new Set([k.head, ...k.ops])) {
      const op = D.ops[o], ahead = D.ops[op?.gradient_of]; // a gradient belongs to its line and to its op's
      for (const [site, part] of [[op?.site ?? -1, "seconds"], [ahead && ahead.site !== op.site ? ahead.site : -1, "gradient"]]) {
        if (site < 0) continue;
        const entry = lines.get(site) ?? lines.set(site, { kernels: new Set(), seconds: 0, gradient: 0 }).get(site);
        entry.kernels.add(i);
        if (o === k.head) entry[part] += k.seconds;
      }
    }
  });
  const rows = [...lines].sort(([, a], [, b]) => b.seconds + b.gradient - a.seconds - a.gradient).map(([s, { kernels, seconds, gradient }]) => {
    const site = D.sites[s], all = [...kernels].sort((a, b) => D.kernels[b].seconds - D.kernels[a].seconds);
    const isAsked = s === state.site; // by a link of `lineLink`
    return { name: `${fileName(site.file)}:${site.line}  ${site.text}`, note: `${site.function}${gradient ? ` (gradient ${time(gradient)})` : ""}`, seconds: seconds + gradient, children: () => all.map(kernelBranch), now: isAsked, isOpen: isAsked };
  });
  const asked = rows.findIndex((row) => row.now);
  if (asked > 0) rows.unshift(...rows.splice(asked, 1));
  const list = el("ul", { class: "tree mono" });
  fill(list, rows, 0);
  return [el("p", { class: "soft" }, "Lines of the program, with the kernels that compute something of each. A line's time is that of the kernels whose main op it made, or (gradient) whose main op is part of the gradient of one that it made: such a kernel counts for both lines."), list];
}

/** A line of the program as a link to all kernels that compute something of it. */
function lineLink(s) {
  const { file, line } = D.sites[s];
  const go = (e) => { e.stopPropagation(); searchFor(""); show("lines", s); byId("view").scrollTop = 0; };
  return el("button", { class: "link", title: `All kernels of ${file}:${line}`, onclick: go }, `${fileName(file)}:${line}`);
}
/** A line of a template as a link to all kernels with something of that template. */
function templateLink({ file, line }) {
  const go = () => { searchFor(file); show("kernels"); };
  return el("button", { class: "link", title: `All kernels with something of ${file}`, onclick: go }, `${file}:${line}`);
}
function searchFor(query) { state.query = byId("search").value = query; }

// --- pictures ---

const colors = new Map(); // a picture asks for them at every kernel
const colorNow = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const color = (name) => colors.get(name) ?? colors.set(name, colorNow(name)).get(name);
/** A picture, of a height in pixels, or (0) of that which its class has. */
function canvas(height, paint) {
  const made = el("canvas", { tabindex: "0" });
  if (height) made.style.height = `${height}px`;
  made.paint = () => {
    const scale = devicePixelRatio || 1, { clientWidth: width, clientHeight: height } = made;
    if (!width) return;
    made.width = width * scale;
    made.height = height * scale;
    const g = made.getContext("2d");
    g.scale(scale, scale);
    g.font = "11px system-ui, sans-serif";
    paint(g, width, height);
  };
  new ResizeObserver(() => made.paint()).observe(made);
  return made;
}
function key(names) {
  return el("div", { class: "key" }, names.map(([name, text]) => el("span", {}, el("i", { style: { background: color(name) } }), text)));
}

/** Begins of the kernels on a line of time, and all of it. */
function clock() {
  const begins = [0];
  for (const k of D.kernels) begins.push(begins[begins.length - 1] + of.each(k));
  return begins;
}
function live() {
  const kinds = ["leaf", "result", "temporary"], rows = kinds.map(() => new Float64Array(D.kernels.length + 1));
  for (const v of D.values) {
    const row = rows[kinds.indexOf(v.kind)];
    row[v.begin] += v.nbytes;
    row[v.end + 1] -= v.nbytes;
  }
  for (const row of rows) for (let i = 1; i < row.length; i++) row[i] += row[i - 1];
  return rows;
}
function owners(i) {
  const there = D.values.filter((v) => v.begin <= i && i <= v.end).sort((a, b) => b.nbytes - a.nbytes).slice(0, 12);
  const total = D.values.reduce((sum, v) => sum + (v.begin <= i && i <= v.end ? v.nbytes : 0), 0);
  const rows = there.map((v) => {
    const op = D.ops[v.op], from = v.kind === "leaf" ? "there before" : `kernel ${v.begin}`;
    return el("tr", {}, el("td", { class: "n" }, si(v.nbytes, "B")), el("td", { class: "wide" }, v.name), el("td", {}, op ? shape(op) : ""),
      el("td", { class: "wide" }, breakable(layerName(op))), el("td", { class: "less" }, `${v.kind}, ${from} to ${v.end}`));
  });
  return [el("h3", {}, `Memory at kernel ${i}, ${D.kernels[i].name}: ${si(total, "B")}`), el("table", {}, el("tbody", {}, rows))];
}
function drawTime() {
  const begins = clock(), all = begins[begins.length - 1] || 1e-12, rows = live();
  const peak = Math.max(1, ...rows[0].map((_, i) => rows[0][i] + rows[1][i] + rows[2][i]));
  state.window ??= [0, all];
  const note = el("div", {});
  const x = (t, width) => (t - state.window[0]) / (state.window[1] - state.window[0]) * width;
  const at = (e) => {
    const box = picture.getBoundingClientRect();
    const t = state.window[0] + (e.clientX - box.left) / box.width * (state.window[1] - state.window[0]);
    let low = 0, high = D.kernels.length - 1;
    while (low < high) { const mid = (low + high + 1) >> 1; if (begins[mid] <= t) low = mid; else high = mid - 1; }
    return [low, t];
  };
  const picture = canvas(260, (g, width) => {
    for (let i = 0; i < D.kernels.length; i++) {
      const a = x(begins[i], width), b = x(begins[i + 1], width);
      if (b < 0 || a > width) continue;
      g.fillStyle = color(i === state.kernel ? "ink" : of.family[i]);
      g.globalAlpha = matches(i) ? 1 : 0.25;
      g.fillRect(a, 16, Math.max(b - a - (b - a > 3 ? 1 : 0), 0.5), 54);
      let base = 250;
      ["leaf", "result", "temporary"].forEach((kind, j) => {
        const high = rows[j][i] / peak * 160;
        g.globalAlpha = 1;
        g.fillStyle = color(kind);
        g.fillRect(a, base - high, Math.max(b - a, 0.5), high);
        base -= high;
      });
      if (b - a > 60) {
        g.fillStyle = color("paper");
        g.fillText(D.kernels[i].name.slice(0, Math.floor((b - a) / 6)), a + 3, 46);
      }
    }
    g.globalAlpha = 1;
    g.fillStyle = color("soft");
    g.fillText(`${time(state.window[0])} to ${time(state.window[1])} of ${time(all)}`, 4, 11);
    g.fillText(`memory, peak ${si(peak, "B")}`, 4, 86);
  });
  picture.setAttribute("aria-label", "Kernels in the order in which they ran, and memory");
  const zoom = (by, t) => {
    const [a, b] = state.window, middle = t ?? (a + b) / 2;
    state.window = [Math.max(0, middle - (middle - a) * by), Math.min(all, middle + (b - middle) * by)];
    picture.paint();
  };
  const move = (by) => {
    const [a, b] = state.window, d = Math.max(-a, Math.min(all - b, by));
    state.window = [a + d, b + d];
    picture.paint();
  };
  let from = null, moved = false;
  picture.addEventListener("wheel", (e) => { e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : 0.8, at(e)[1]); }, { passive: false });
  picture.addEventListener("pointerdown", (e) => { from = e.clientX; moved = false; picture.setPointerCapture(e.pointerId); });
  picture.addEventListener("pointermove", (e) => {
    if (from === null) return note.replaceChildren(...owners(at(e)[0]));
    if (!moved && Math.abs(e.clientX - from) < 4) return;
    moved = true;
    move((from - e.clientX) / picture.clientWidth * (state.window[1] - state.window[0]));
    from = e.clientX;
  });
  picture.addEventListener("pointerup", (e) => { if (!moved) open(at(e)[0]); from = null; });
  picture.addEventListener("keydown", (e) => {
    const wide = state.window[1] - state.window[0];
    ({ "+": () => zoom(0.8), "-": () => zoom(1.25), ArrowLeft: () => move(-wide / 8), ArrowRight: () => move(wide / 8) })[e.key]?.();
  });
  const heaviest = D.kernels.reduce((best, _, i) => (rows[0][i] + rows[1][i] + rows[2][i] > rows[0][best] + rows[1][best] + rows[2][best] ? i : best), 0);
  note.append(...owners(state.kernel >= 0 ? state.kernel : heaviest));
  return [
    ...drawAllParts(),
    el("p", {}, el("button", { onclick: () => zoom(0.5) }, "Nearer"), " ", el("button", { onclick: () => zoom(2) }, "Farther"), " ",
      el("button", { onclick: () => { state.window = [0, all]; picture.paint(); } }, "All"), el("span", { class: "soft" }, " wheel, drag, + and −; click a kernel")),
    picture, key([["contract", "products"], ["reduce", "reductions"], ["map", "maps"], ["other", "others"]]),
    key([["temporary", "temporary values"], ["result", "results"], ["leaf", "there before: parameters, arguments"]]), note,
  ];
}
function drawRoof() {
  if (!(D.copy && D.fma)) return [el("p", {}, "The ceilings of this adapter were not measured.")];
  const points = D.kernels.map((k, i) => [k.flops / Math.max(k.reads + k.writes, 1), k.flops / (of.each(k) || 1e-12), i]).filter(([a, b]) => a > 0 && b > 0);
  const range = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
  const ridge = D.fma / D.copy, [x0, x1] = range([...points.map((p) => p[0]), ridge / 10, ridge * 10]), [y0, y1] = range([...points.map((p) => p[1]), D.fma * 1.5]);
  let spots = [];
  const picture = canvas(420, (g, width, height) => {
    const x = (v) => 44 + (Math.log10(v) - x0) / (x1 - x0) * (width - 60), y = (v) => height - 26 - (Math.log10(v) - y0) / (y1 - y0) * (height - 40);
    g.fillStyle = color("soft");
    g.strokeStyle = color("line");
    for (let e = x0; e <= x1; e++) { const text = `${+(10 ** e).toPrecision(1)}`; g.fillText(text, Math.min(x(10 ** e), width - 4 - g.measureText(text).width), height - 10); g.strokeRect(x(10 ** e), 8, 0, height - 34); }
    for (let e = y0; e <= y1; e++) { g.fillText(si(10 ** e, "").trim(), 2, y(10 ** e)); g.strokeRect(44, y(10 ** e), width - 60, 0); }
    g.fillText("operations a byte", width - 120, height - 32);
    g.strokeStyle = color("flame");
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(x(10 ** x0), y(Math.max(D.copy * 10 ** x0, 10 ** y0)));
    g.lineTo(x(ridge), y(D.fma));
    g.lineTo(x(10 ** x1), y(D.fma));
    g.stroke();
    g.textAlign = "right";
    g.fillText(`${si(D.fma, "FLOP/s")}; ${si(D.copy, "B/s")}`, x(10 ** x1), y(D.fma) - 6);
    g.textAlign = "left";
    spots = points.map(([a, b, i]) => [x(a), y(b), 3 + 14 * Math.sqrt(D.kernels[i].seconds / of.total), i]);
    for (const [px, py, r, i] of spots) {
      g.globalAlpha = matches(i) ? 0.75 : 0.15;
      g.fillStyle = color(i === state.kernel ? "ink" : of.family[i]);
      g.beginPath();
      g.arc(px, py, r, 0, 7);
      g.fill();
    }
    g.globalAlpha = 1;
  });
  const near = (e) => {
    const box = picture.getBoundingClientRect(), px = e.clientX - box.left, py = e.clientY - box.top;
    const best = spots.reduce((b, s) => { const d = Math.hypot(s[0] - px, s[1] - py) - s[2]; return d < b[0] ? [d, s[3]] : b; }, [8, -1]);
    return best[1];
  };
  const note = el("p", { class: "soft" }, " ");
  picture.addEventListener("pointermove", (e) => { const i = near(e); note.textContent = i < 0 ? " " : `${D.kernels[i].name}: ${time(D.kernels[i].seconds)}, ${layerName(D.ops[D.kernels[i].head])}`; });
  picture.addEventListener("click", (e) => { const i = near(e); if (i >= 0) open(i); });
  return [
    el("p", { class: "soft" }, "Operations a second over operations a byte; the line is what this adapter was measured to reach. Bytes are the least that a kernel has to move, so caches may lift it above the line. The larger a spot, the more time."),
    picture, key([["contract", "products"], ["reduce", "reductions"], ["map", "maps"], ["other", "others"]]), note,
  ];
}

// --- one kernel ---

/** The op that a line of WGSL computes: that of its step, else the kernel's head where a template does the work. */
function opOfLine(k, shader, n) {
  const step = k.steps[shader.steps[n]];
  return step !== undefined ? step : -1;
}
function origin(k, n) {
  const shader = D.shaders[k.shader], step = opOfLine(k, shader, n), o = step >= 0 ? step : k.head, op = D.ops[o];
  const parts = [el("p", {}, el("b", {}, `WGSL line ${n + 1}`), ` of ${k.name}`)];
  for (const p of shader.places[n]) {
    const place = D.places[p];
    parts.push(el("p", {}, el("span", { class: "soft" }, "template "), templateLink(place), " ", el("code", {}, place.text)));
  }
  if (op) {
    const what = step >= 0 ? "op" : "the template computes";
    parts.push(el("p", {}, el("span", { class: "soft" }, `${what} `), `${op.name} ${shape(op)}`, layerName(op) && el("span", { class: "soft" }, ` in ${layerName(op)}`)));
    const site = D.sites[op.site], ahead = forward(op);
    if (ahead) parts.push(el("p", {}, ahead));
    if (site) parts.push(el("p", {}, el("span", { class: "soft" }, "Python "), lineLink(op.site), " ", el("code", {}, site.text)));
    state.op = o;
  }
  byId("origin").replaceChildren(...parts);
  byId("origin").hidden = false;
  lightUp(k, step >= 0 ? step : null, n);
}
function lightUp(k, o, n) {
  const shader = D.shaders[k.shader];
  byId("wgsl")?.querySelectorAll("tr").forEach((row, i) => {
    row.classList.toggle("lit", i === n || (o !== null && opOfLine(k, shader, i) === o));
  });
}
function code(k) {
  const shader = D.shaders[k.shader];
  const rows = shader.wgsl.replace(/\n$/, "").split("\n").map((line, n) => {
    const o = opOfLine(k, shader, n);
    return el("tr", { class: "own", onclick: () => origin(k, n) }, el("td", { class: "at" }, n + 1), el("td", {}, highlighted(line)),
      el("td", { class: "op" }, o >= 0 ? `${D.ops[o].name}${D.ops[o].gradient_of >= 0 ? "′" : ""}` : ""));
  });
  return el("div", { class: "code mono", id: "wgsl", tabindex: "0" }, el("table", {}, el("tbody", {}, rows)));
}
function decoded(word, type) {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, word);
  return type === "f32" ? +view.getFloat32(0).toPrecision(7) : type === "i32" ? view.getInt32(0) : word;
}
function facts(k) {
  const shader = D.shaders[k.shader], each = of.each(k) || 1e-12, least = bound(k), fact = (name, value) => el("span", {}, el("span", { class: "soft" }, `${name} `), el("b", {}, value));
  return el("div", { class: "facts" },
    fact("time", `${time(k.seconds)}, ${percent(k.seconds / of.total)} of all`), k.runs > 1 && fact("runs", `${k.runs}, the fastest ${time(k.least)}`),
    fact("reads", si(k.reads, "B")), fact("writes", si(k.writes, "B")), fact("operations", si(k.flops, "")),
    fact("intensity", `${+(k.flops / Math.max(k.reads + k.writes, 1)).toPrecision(3)} a byte`),
    fact("reaches", `${si((k.reads + k.writes) / each, "B/s")}, ${si(k.flops / each, "FLOP/s")}${least ? `, ${percent(least / each)} of what the adapter could` : ""}`),
    fact("grid", `${k.grid.join(" × ")} workgroups of ${shader.workgroup.join(" × ") || "?"}`), fact("template", shader.template || "none: the text came from elsewhere"),
    k.ends && fact("stored because", k.ends), fact("pipeline", k.is_new ? "compiled for this call" : "was there before"));
}
function opsTable(k) {
  const shown = k.ops.filter((o) => !["movement", "source", "leaf", "composite"].includes(D.ops[o].kind));
  const rows = (shown.length ? shown : k.ops).map((o) => {
    const op = D.ops[o], site = D.sites[op.site];
    return el("tr", { class: "pick", onclick: () => { state.op = o; lightUp(k, o, -1); } },
      el("td", {}, el("button", { class: "link" }, op.name)), el("td", {}, shape(op)), el("td", { class: "wide less" }, breakable(layerName(op))),
      el("td", { class: "wide" }, forward(op)?.concat(el("br")), site && [lineLink(op.site), " ", el("code", {}, site.text)]));
  });
  return rows.length ? [el("h3", {}, `What it computes: ${rows.length} op${rows.length > 1 ? "s" : ""}`), el("table", {}, el("tbody", {}, rows))] : [];
}
function bindingsTable(k) {
  const shader = D.shaders[k.shader], reads = [...k.inputs], writes = [...k.outputs];
  const rows = shader.bindings.map((b, n) => {
    const v = D.values[(b.writes ? writes : reads).shift()], op = D.ops[v?.op];
    return el("tr", {}, el("td", { class: "n" }, n + 1), el("td", { class: "mono" }, b.name), el("td", { class: "mono" }, b.type), el("td", {}, b.writes ? "writes" : "reads"),
      el("td", { class: "wide" }, v ? `${v.name} ${op ? shape(op) : ""}` : ""), el("td", { class: "n" }, v ? si(v.nbytes, "B") : ""));
  });
  const params = shader.params.map(([name, type], n) => el("tr", {}, el("td", { class: "mono" }, `p.${name}`), el("td", { class: "mono" }, type), el("td", { class: "n" }, n in k.params ? String(decoded(k.params[n], type)) : "")));
  const options = Object.entries(shader.options).map(([name, value]) => el("tr", {}, el("td", { class: "mono" }, name), el("td", { class: "mono wide" }, value)));
  const table = (title, body) => body.length ? el("details", {}, el("summary", {}, title), el("table", {}, el("tbody", {}, body))) : null;
  return [table(`Bindings: ${rows.length}`, rows), table(`Params: ${params.length}`, params), table(`Template's variables: ${options.length}`, options)];
}
function drawDetail() {
  const box = byId("detail"), i = state.kernel, k = D.kernels[i];
  document.querySelector("main").classList.toggle("open", !!k);
  box.hidden = !k;
  if (!k) return box.replaceChildren();
  const wgsl = D.shaders[k.shader].wgsl;
  const layer = layerName(D.ops[k.head]), site = siteOf(k);
  box.replaceChildren(
    el("div", { class: "top" }, el("h2", {}, el("span", { class: "soft", title: "Its number, as --emit and --send take it" }, `${i} `), k.name), el("button", { onclick: () => open(-1), "aria-label": "Close" }, "×")),
    el("p", { class: "soft" }, layer && `${layer} · `, site && lineLink(D.ops[k.head].site), site && " ", site && el("code", {}, site.text)),
    el("p", {}, forward(D.ops[k.head])), facts(k), ...opsTable(k), el("h3", {}, "WGSL: click a line for its op, its template and its line of Python"),
    el("div", { class: "bar" }, copier(wgsl), server && el("button", { id: "edit", onclick: () => edit(i) }, "Edit (e)"),
      server && el("button", { id: "emit", onclick: () => emit(i) }, "For the driver"), server && el("button", { onclick: () => save(i, "script", `${i}.py`) }, "As a script"), server && el("button", { onclick: () => save(i, "page", `${i}.html`) }, "As a page")),
    el("div", { id: "origin", hidden: true }), el("div", { id: "editor" }), code(k), el("div", {}, bindingsTable(k)));
  box.scrollTop = 0;
}

// --- what a server does: edits ---

async function ask(what, body) {
  const reply = await fetch(what, { method: "POST", headers: { "Content-Type": "application/json", "X-Flambeau-Token": server.token }, body: JSON.stringify(body) });
  const found = await reply.json();
  if (!reply.ok) throw new Error(found.error);
  return found;
}
/** A result of an edit that is not the kernel's: how many elements, by how much, and the first pair. */
function differs(o) {
  if (!o.different) return "";
  const number = (n) => (Number.isFinite(n) ? +n.toPrecision(4) : "NaN or more");
  return `${o.name}: ${o.different} of ${o.elements} elements differ, by ${number(o.largest)} at most (relative ${number(o.relative)}); the first at ${o.first}: expected ${o.expected}, got ${o.found}. `;
}
function edit(i) {
  const k = D.kernels[i], shader = D.shaders[k.shader];
  const text = el("textarea", { id: "wgsl-edit", spellcheck: "false", "aria-label": "WGSL" }), told = el("div", { id: "told", "aria-live": "polite" });
  const own = { "": shader.wgsl }, edited = { "": shader.wgsl, ...server.edits?.[i] };  // by template; "" is the WGSL
  const choice = el("select", { id: "edit-of", "aria-label": "What is edited", onchange: () => take(choice.value) }, el("option", { value: "" }, "WGSL"));
  let now = "";
  const take = (file) => { edited[now] = text.value; now = choice.value = file; text.value = edited[file]; };
  const body = () => {
    edited[now] = text.value;
    const templates = Object.fromEntries(Object.keys(own).filter((file) => file && edited[file] !== own[file]).map((file) => [file, edited[file]]));
    return !now ? { wgsl: edited[""] } : Object.keys(templates).length ? { templates } : { wgsl: own[""] };
  };
  text.value = edited[""];
  ask("templates", { kernel: i }).then((found) => {
    Object.assign(own, found.templates);
    for (const file of Object.keys(found.templates)) { edited[file] ??= own[file]; choice.append(el("option", { value: file }, file)); }
  }, (e) => told.replaceChildren(el("p", { class: "soft" }, e.message)));
  const run = el("button", { class: "main", id: "run", onclick: () => tryIt() }, "Run (Ctrl+Enter)");
  const tryIt = async () => {
    run.disabled = true;
    const begin = performance.now();
    try { show(await ask("run", { kernel: i, ...body() }), performance.now() - begin); } catch (e) { told.replaceChildren(el("p", { class: "wrong" }, e.message)); }
    run.disabled = false;
  };
  const show = (r, took) => {
    if (r.error) {
      if (r.file && r.file !== now && r.file in own) take(r.file);
      const go = () => {
        const lines = text.value.split("\n"), from = lines.slice(0, r.line - 1).join("\n").length + (r.line > 1), high = parseFloat(getComputedStyle(text).lineHeight);
        text.focus();
        text.setSelectionRange(from, from + (lines[r.line - 1] ?? "").length);
        text.scrollTop = (r.line - 0.5) * high - text.clientHeight / 2; // a selection alone scrolls no textarea
      };
      told.replaceChildren(el("p", { class: "wrong" }, r.line ? el("button", { class: "link", onclick: go }, `${r.file ? `${r.file} ` : ""}line ${r.line}`) : "", r.line ? ": " : "", el("span", {}, r.says)), r.error !== r.says && el("details", {}, el("summary", {}, "All of the message"), el("pre", {}, r.error)));
      if (r.line) go();
      return;
    }
    (server.edits ??= {})[i] = { ...edited };
    const same = r.outputs.every((o) => !o.different), ratio = r.original / r.seconds, [low, high] = r.ratio.map((n) => n.toPrecision(3));
    const spread = r.is_equal ? ` as fast: no difference in the noise, ${low} to ${high} ×` : `, ${low} to ${high} ×`;
    told.replaceChildren(
      el("p", {}, el("b", { id: "edit-time" }, time(r.seconds)), ` beside ${time(r.original)} of the original: `, el("b", { id: "edit-ratio", class: r.is_equal ? "" : ratio >= 1 ? "good" : "wrong" }, r.is_equal ? "equally" : `${ratio.toPrecision(3)} ×`), el("span", { class: "soft" }, `${spread} (${Math.round(took)} ms from click to result)`)),
      el("p", { class: same ? "good" : "wrong" }, same ? "Results are the same, bit for bit or NaN for NaN." : r.outputs.map(differs).join("")),
      el("p", {}, el("button", { onclick: () => save(i, "custom_op", `kernel_${i}.py`, body()) }, "Keep as custom_op"), " ",
        body().templates && el("button", { onclick: () => save(i, "patch", `kernel_${i}.patch`, body()) }, "Keep as patch"),
        !same && el("span", { id: "keep-note", class: "wrong" }, " its results are not the kernel's")));
  };
  text.addEventListener("keydown", (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); tryIt(); } });
  byId("editor").replaceChildren(text, el("div", { class: "bar" }, run, choice, el("button", { onclick: () => { text.value = own[now]; } }, "Original"), el("button", { onclick: () => byId("editor").replaceChildren() }, "Close")), told);
  text.focus();
}
async function emit(i) {
  try {
    const { language, text } = await ask("emit", { kernel: i });
    byId("editor").replaceChildren(el("h3", {}, `${language}: what Dawn gives the driver`), el("div", { class: "bar" }, copier(text), el("button", { onclick: () => byId("editor").replaceChildren() }, "Close")), el("pre", { id: "emitted", class: "code mono" }, text));
  } catch (e) { byId("editor").replaceChildren(el("p", { class: "wrong" }, e.message)); }
}
async function save(i, what, name, body) {
  try {
    const { text } = await ask("export", { kernel: i, what, ...(body ?? { wgsl: D.shaders[D.kernels[i].shader].wgsl }) });
    const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: name });
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (e) { byId("editor").replaceChildren(el("p", { class: "wrong" }, e.message)); }
}

// --- the page ---

const VIEWS = { kernels: drawKernels, model: () => [...drawGraph(), ...drawModel()], lines: drawLines, time: drawTime, roof: drawRoof };
function view(children) { byId("view").replaceChildren(...children.filter(Boolean)); }
function draw() {
  for (const tab of TABS) byId(`tab-${tab}`).setAttribute("aria-selected", String(tab === state.tab));
  view(VIEWS[state.tab]());
  byId("view").querySelectorAll("canvas").forEach((c) => c.paint());
}
function open(i) {
  state.kernel = D.kernels[i] ? i : -1;
  state.op = -1;
  drawDetail();
  byId("view").querySelectorAll("[data-kernel]").forEach((row) => row.classList.toggle("now", +row.dataset.kernel === i));
  byId("view").querySelectorAll("canvas").forEach((c) => c.paint());
  try { history.replaceState(null, "", i >= 0 ? `#kernel=${i}` : "#"); } catch { /* a frame without an address */ }
}
function show(tab, site = -1) {
  if (matchMedia("(max-width: 50rem)").matches) open(-1); // a kernel covers the view there
  state.tab = tab;
  state.site = site;
  draw();
}
function step(by) {
  const rows = sorted().map((row) => row.id), at = rows.indexOf(state.kernel);
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
  if (next === undefined) return;
  open(next);
  byId("view").querySelector(".now")?.scrollIntoView({ block: "nearest" });
}
const KEYS = {
  "/": () => byId("search").focus(), j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
  Escape: () => open(-1), e: () => server && state.kernel >= 0 && edit(state.kernel),
  1: () => show("kernels"), 2: () => show("model"), 3: () => show("lines"), 4: () => show("time"), 5: () => show("roof"),
};
function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const inText = ["INPUT", "TEXTAREA"].includes(e.target.tagName);
  if (inText && e.key !== "Escape") return;
  if (e.target.tagName === "CANVAS" && e.key.startsWith("Arrow")) return;
  if (inText) return e.target.blur();
  const act = KEYS[e.key];
  if (act) { e.preventDefault(); act(); }
}
async function read() {
  const bytes = Uint8Array.from(atob(byId("data").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
async function begin() {
  try { D = await read(); } catch (e) {
    return view([el("p", { class: "wrong" }, `The page can't be read: ${e.message}. A browser of 2023 or later is needed.`)]);
  }
  server = JSON.parse(byId("server").textContent);
  of = related();
  byId("target").textContent = D.target;
  const runs = D.kernels.reduce((sum, k) => sum + k.runs, 0);
  byId("facts").textContent = `${D.device} · ${D.warm ? "a warm call" : D.calls.length < 2 ? "the first call" : "the first call and later ones"}: ${runs} dispatches of ${D.kernels.length} kernels · ${time(of.total)} of GPU, by ${D.how}${D.why ? ` (${D.why})` : ""} · ${D.layers.length} layers, ${D.ops.length} ops, ${D.shaders.length} texts of WGSL${(D.transfers ?? []).map((t) => ` · transfer ${t.source} → ${t.target}, ${si(t.nbytes, "B")}, ${t.runs} runs`).join("")}`;
  for (const tab of TABS) byId(`tab-${tab}`).addEventListener("click", () => show(tab));
  let later;
  byId("search").addEventListener("input", (e) => { state.query = e.target.value; clearTimeout(later); later = setTimeout(() => show(state.tab, state.site), 80); });
  document.addEventListener("keydown", onKey);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colors.clear(); draw(); });
  draw();
  const asked = /^#kernel=(\d+)$/.exec(location.hash);
  if (asked) open(+asked[1]);
  document.body.dataset.ready = "yes";
}
begin();
