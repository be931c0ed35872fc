/** Draws the model as boxes in boxes: layers and their gradients, in them kernels with their ops, and the values between. */

const BOX = { wide: 176, head: 19, line: 13, folded: 40, ops: 4, gap: 14, row: 24, pad: 10, title: 20 };
const AT_FIRST = 30; // boxes that are shown before the reader opens more; search results that are opened
const MOST_COLUMNS = 8, BROAD = [2.4, 1.3]; // how much broader than high the whole is to be, and a box in it
const NEAREST = 1.25, FARTHEST = 0.02; // pixels a pixel
const READABLE = 11; // pixels of a letter: smaller ones are made larger, or left out where there is no room
let graph = null;

/** The tree of boxes; every box knows its kernels, every box with others in it what flows between these. */
function boxes() {
  const made = new Map(), root = { id: "", name: "", inside: [], kernels: [], seconds: 0, links: new Map() };
  const layerBox = (layer, gradient) => {
    if (layer < 0) return root;
    const id = `${layer}${gradient ? "g" : ""}`, row = D.layers[layer];
    if (made.has(id)) return made.get(id);
    const above = layerBox(row.parent, gradient), outer = D.layers[row.parent]?.name;
    const name = outer && row.name.startsWith(`${outer}.`) ? row.name.slice(outer.length + 1) : row.name;
    const box = { id, name: gradient && above === root ? `${name} (gradient)` : name, kind: row.kind, inside: [], kernels: [], seconds: 0, links: new Map(), above };
    above.inside.push(box);
    made.set(id, box);
    return box;
  };
  const leaves = D.kernels.map((k, i) => {
    const op = D.ops[k.head], above = layerBox(op?.layer ?? -1, op?.gradient_of >= 0);
    const leaf = { id: `k${i}`, kernel: i, name: k.name, kernels: [i], seconds: k.seconds, ops: opsShown(k), above };
    above.inside.push(leaf);
    for (let box = above; box; box = box.above) { box.kernels.push(i); box.seconds += k.seconds; }
    return leaf;
  });
  merge(root);
  const edges = flows();
  for (const [a, b] of edges) link(leaves[a], leaves[b]);
  return { root, leaves, edges };
}
function opsShown(k) {
  const shown = k.ops.filter((o) => !["movement", "source", "leaf", "composite"].includes(D.ops[o].kind));
  return shown.map((o) => `${D.ops[o].name} ${shape(D.ops[o])}`);
}
/** Put a layer's only kernel in the layer's place: there is nothing to open. */
function merge(box) {
  box.inside.forEach((one, n) => {
    if (!one.inside) return;
    merge(one);
    const [only] = one.inside;
    if (one.inside.length > 1 || only.inside) return;
    Object.assign(only, { layer: only.layer ? `${one.name}.${only.layer}` : one.name, above: box });
    box.inside[n] = only;
  });
}
/** [writer, reader, value] of all kernels: who reads what another wrote. */
function flows() {
  const wrote = new Map(), found = [];
  D.kernels.forEach((k, i) => {
    for (const v of new Set(k.inputs)) if (wrote.has(v) && wrote.get(v) !== i) found.push([wrote.get(v), i, v]);
    for (const v of k.outputs) wrote.set(v, i);
  });
  return found;
}
function chain(box) {
  const found = [];
  for (; box; box = box.above) found.push(box);
  return found.reverse();
}
/** Note a flow where its ends are side by side: in the innermost box that holds both. */
function link(a, b) {
  const up = chain(a), down = chain(b);
  let n = 0;
  while (up[n + 1] === down[n + 1] && up[n + 1]) n++;
  if (up[n + 1] && down[n + 1]) up[n].links.set(`${up[n + 1].id}>${down[n + 1].id}`, [up[n + 1], down[n + 1]]);
}

// --- where boxes are ---

/** Give a box its size, and what is in it a place: rows by what waits for what, in columns where that would be tall. */
function arrange(box, isOpen) {
  if (!box.inside) return Object.assign(box, { w: BOX.wide, h: (box.layer ? BOX.line : 0) + BOX.head + BOX.line * Math.min(box.ops.length, BOX.ops) + 4 });
  if (!isOpen(box)) return Object.assign(box, { w: BOX.wide, h: BOX.folded });
  box.there = box.inside.filter((one) => !state.query || one.kernels.some((i) => graph.found.has(i))); // a search hides the others
  for (const one of box.there) arrange(one, isOpen);
  if (!box.there.length) return Object.assign(box, { w: BOX.wide, h: BOX.folded });
  const rows = rowsOf(box).map((row) => ({ row, w: row.reduce((w, b) => w + b.w + BOX.gap, -BOX.gap), h: Math.max(...row.map((b) => b.h)) }));
  const title = box.above ? BOX.title : 0, broad = BROAD[box.above ? 1 : 0];
  let best = null;
  for (let count = 1; count <= Math.min(rows.length, MOST_COLUMNS); count++) {
    const made = columns(rows, count), size = Math.max(made.w / broad, made.h);
    if (!best || size < 0.95 * best.size) best = { ...made, size };
  }
  let left = BOX.pad;
  for (const { rows: mine, w } of best.columns) {
    let y = title + BOX.pad;
    for (const r of mine) {
      let x = left + (w - r.w) / 2;
      for (const b of r.row) { Object.assign(b, { x, y }); x += b.w + BOX.gap; }
      y += r.h + BOX.row;
    }
    left += w + 2 * BOX.gap;
  }
  return Object.assign(box, { w: best.w + 2 * BOX.pad, h: title + best.h + 2 * BOX.pad });
}
/** Rows in about so many columns, each as tall as its share of all, and the size of that. */
function columns(rows, count) {
  const tall = rows.reduce((sum, r) => sum + r.h + BOX.row, 0) / count, made = [];
  let at = Infinity;
  for (const r of rows) {
    if (at + r.h / 2 > tall && at > 0) { made.push({ rows: [], w: 0, h: -BOX.row }); at = 0; }
    const column = made[made.length - 1];
    column.rows.push(r);
    column.w = Math.max(column.w, r.w);
    column.h += r.h + BOX.row;
    at += r.h + BOX.row;
  }
  return { columns: made, w: made.reduce((sum, c) => sum + c.w + 2 * BOX.gap, -2 * BOX.gap), h: Math.max(...made.map((c) => c.h)) };
}
/** When a box runs: in the middle of its kernels, since some of a layer are computed again for the gradients; an optimizer
 * is the last of all, although it runs among the gradients. */
function when({ kernels, kind }) { return kind === "" ? D.kernels.length : kernels[kernels.length >> 1]; }
/** Boxes by rows: each below all that it reads from, near to those, and no row much wider than the others are long. */
function rowsOf({ there: inside, links }) {
  const order = [...inside].sort((a, b) => when(a) - when(b)), rank = new Map(order.map((b) => [b, 0])), before = new Map();
  const area = inside.reduce((sum, b) => sum + b.w * b.h, 0), most = Math.max(3 * BOX.wide, 1.6 * Math.sqrt(area));
  for (const [a, b] of links.values()) if (rank.has(a)) before.get(b)?.push(a) ?? before.set(b, [a]);
  for (const b of order) {
    for (const a of before.get(b) ?? []) if (when(a) < when(b)) rank.set(b, Math.max(rank.get(b), rank.get(a) + 1));
  }
  const levels = [];
  for (const b of order) (levels[rank.get(b)] ??= []).push(b);
  const at = new Map(), rows = [];
  for (const level of levels) {
    const near = (b) => { const from = (before.get(b) ?? []).filter((a) => at.has(a)); return from.length ? from.reduce((sum, a) => sum + at.get(a), 0) / from.length : 0; };
    const placed = level.map((b) => [near(b), b]).sort(([m, a], [n, b]) => m - n || when(a) - when(b)).map(([, b]) => b);
    let row = [], w = 0;
    for (const b of placed) {
      if (row.length && w + b.w > most) { rows.push(row); [row, w] = [[], 0]; }
      row.push(b);
      w += b.w + BOX.gap;
    }
    rows.push(row);
    placed.forEach((b, n) => at.set(b, n - placed.length / 2));
  }
  return rows;
}
/** All boxes that can be seen, outer ones first, at their places in the whole. */
function laidOut() {
  const shown = [], isOpen = (box) => box === graph.root || graph.opened.has(box.id) || (!!state.query && graph.found.size <= AT_FIRST);
  arrange(graph.root, isOpen);
  const put = (box, x, y) => {
    Object.assign(box, { left: x, top: y, isOpen: !!box.inside && isOpen(box) });
    shown.push(box);
    if (box.isOpen) for (const one of box.there) put(one, x + one.x, y + one.y);
  };
  put(graph.root, 0, 0);
  [graph.shown, graph.seen] = [shown, new Set(shown)];
}
/** The box that stands for a kernel: itself, or the folded one that it is in. */
function standing(leaf) {
  return chain(leaf).find((box) => !box.isOpen) ?? leaf;
}
/** Open boxes from the outside in, those that have few others in them. */
function openAtFirst() {
  let count = graph.root.inside.length;
  const waiting = [...graph.root.inside];
  for (const box of waiting) {
    if (!box.inside || count + box.inside.length > AT_FIRST) continue;
    count += box.inside.length;
    graph.opened.add(box.id);
    waiting.push(...box.inside);
  }
}

// --- what is seen ---

function fit(some, { clientWidth: width, clientHeight: height }) {
  const left = Math.min(...some.map((b) => b.left)), top = Math.min(...some.map((b) => b.top));
  const right = Math.max(...some.map((b) => b.left + b.w)), bottom = Math.max(...some.map((b) => b.top + b.h));
  const k = Math.min(NEAREST, Math.max(FARTHEST, Math.min(width / (right - left + 24), height / (bottom - top + 24))));
  graph.view = { k, x: width / 2 - k * (left + right) / 2, y: height / 2 - k * (top + bottom) / 2 };
}
function reveal(i, picture) {
  for (const box of chain(graph.leaves[i]).slice(0, -1)) graph.opened.add(box.id);
  laidOut();
  if (!graph.seen.has(graph.leaves[i])) return; // a search hides it
  const { left, top, w, h } = graph.leaves[i], k = Math.max(graph.view?.k ?? 0, 0.7);
  graph.view = { k, x: picture.clientWidth / 2 - k * (left + w / 2), y: picture.clientHeight / 2 - k * (top + h / 2) };
  graph.now = graph.leaves[i];
}
function clipped(g, text, wide) {
  const whole = g.measureText(text).width;
  if (whole <= wide) return text;
  let fits = Math.max(1, Math.ceil(text.length * wide / whole));
  while (fits > 1 && g.measureText(`${text.slice(0, fits)}…`).width > wide) fits--;
  return `${text.slice(0, fits)}…`;
}
function paintBox(g, box, k) {
  if (!box.above) return;
  const { left, top, w, h } = box;
  g.globalAlpha = 1;
  g.fillStyle = color(box.isOpen ? "paper" : "card");
  g.strokeStyle = color("line");
  g.lineWidth = 1;
  g.beginPath();
  g.roundRect(left, top, w, h, 5);
  g.fill();
  g.stroke();
  if (!box.isOpen) {
    g.fillStyle = color(box.inside ? "flame" : of.family[box.kernel]);
    g.fillRect(left + 1, top + h - 4, Math.max(2, (w - 2) * box.seconds / graph.dearest), 3);
    if (!box.inside) g.fillRect(left, top + 4, 3, h - 8);
    g.globalAlpha = Math.max(0, 0.5 - k); // from afar a box is its color
    g.fill();
    g.globalAlpha = 1;
  }
  if (box === graph.now || box.kernel === state.kernel) {
    g.strokeStyle = color(box.kernel === state.kernel ? "flame" : "ink");
    g.lineWidth = 2 / Math.min(k, 1);
    g.stroke();
  }
  const size = Math.max(12, READABLE / k), isNear = 11 * k >= 0.8 * READABLE; // or there are names alone
  if (box.isOpen || size > 0.75 * h) return;
  g.fillStyle = color("ink");
  g.font = `600 ${size}px system-ui, sans-serif`;
  if (!isNear) {
    const both = h > 2.6 * size, middle = top + h / 2 + size / 3;
    g.fillText(clipped(g, `${box.inside ? "▸ " : ""}${box.layer ?? box.name}`, w - 12), left + 8, middle - (both ? 0.65 * size : 0));
    g.fillStyle = color("soft");
    return both && g.fillText(clipped(g, time(box.seconds), w - 12), left + 8, middle + 0.65 * size);
  }
  if (box.inside) {
    g.fillText(clipped(g, `▸ ${box.name}`, w - 12), left + 6, top + 15);
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = color("soft");
    return g.fillText(clipped(g, `${box.kind ? `${box.kind}, ` : ""}${box.kernels.length} kernels, ${time(box.seconds)}`, w - 12), left + 6, top + 30);
  }
  let y = top + 14;
  const took = time(box.seconds), wide = g.measureText(took).width;
  g.fillText(clipped(g, box.layer ?? box.name, w - 24 - wide), left + 8, y);
  g.fillStyle = color("soft");
  g.fillText(took, left + w - wide - 6, y);
  g.font = "10.5px ui-monospace, Menlo, Consolas, monospace";
  const lines = box.ops.length > BOX.ops ? [...box.ops.slice(0, BOX.ops - 1), `and ${box.ops.length - BOX.ops + 1} more ops`] : [...box.ops];
  if (box.layer) lines.unshift(box.name);
  for (const line of lines) g.fillText(clipped(g, line, w - 14), left + 8, y += BOX.line);
}
/** The name of an open box, above what is in it: never smaller than can be read, and never over another's. */
function paintTitle(g, box, k) {
  const size = Math.max(12, READABLE / k), text = `▾ ${box.name}  ${time(box.seconds)}`;
  if (size > box.h / 3) return;
  g.font = `600 ${size}px system-ui, sans-serif`;
  const shown = clipped(g, text, box.w - size / 2), wide = g.measureText(shown).width;
  if (shown.length < 5) return;
  const place = [box.left + 1 / k, box.top + 1 / k, wide + size / 2, size * 1.3];
  if (graph.titles.some((other) => overlap(place, other))) return; // outer ones come first
  graph.titles.push(place);
  g.fillStyle = color("paper");
  if (size > 12) g.fillRect(...place);
  g.fillStyle = color("ink");
  g.fillText(shown, box.left + size / 3, box.top + size * 1.2);
}
function overlap([a, b, w, h], [x, y, wide, high]) { return a < x + wide && x < a + w && b < y + high && y < b + h; }
function arrow(g, a, b) {
  const x0 = a.left + a.w / 2, x1 = b.left + b.w / 2, down = a.top + a.h <= b.top + 1;
  const y0 = a.top + a.h, y1 = b.top, bend = down ? (y1 - y0) / 2 : BOX.row * 2;
  g.beginPath();
  g.moveTo(x0, y0);
  g.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
  g.stroke();
}
function paintGraph(g, width, height, picture) {
  if (state.kernel !== graph.kernel) {
    graph.kernel = state.kernel;
    if (state.kernel >= 0 && graph.now !== graph.leaves[state.kernel]) reveal(state.kernel, picture);
  }
  if (!graph.view) fit([graph.root], picture);
  const { x, y, k } = graph.view, seen = (b) => b.left * k + x < width && (b.left + b.w) * k + x > 0 && b.top * k + y < height && (b.top + b.h) * k + y > 0;
  g.save();
  g.translate(x, y);
  g.scale(k, k);
  for (const box of graph.shown) {
    if (!seen(box)) continue;
    paintBox(g, box, k);
    if (!box.isOpen) continue;
    g.globalAlpha = 0.8;
    g.strokeStyle = color("soft");
    g.lineWidth = Math.min(0.8 / k, 3);
    for (const [a, b] of box.links.values()) if (!state.query || (graph.seen.has(a) && graph.seen.has(b))) arrow(g, a, b);
  }
  g.globalAlpha = 1;
  g.strokeStyle = color("flame");
  g.lineWidth = 2 / Math.min(k, 1);
  for (const [a, b] of state.kernel < 0 ? [] : graph.edges.filter(([a, b]) => a === state.kernel || b === state.kernel)) {
    const [from, to] = [standing(graph.leaves[a]), standing(graph.leaves[b])];
    if (from !== to && graph.seen.has(from) && graph.seen.has(to)) arrow(g, from, to);
  }
  graph.titles = []; // where they are
  for (const box of graph.shown) if (box.isOpen && box.above && seen(box)) paintTitle(g, box, k);
  g.restore();
}

// --- hand and keyboard ---

function toggle(box) {
  const before = [box.left, box.top], { opened } = graph;
  if (!opened.delete(box.id)) opened.add(box.id);
  laidOut();
  graph.view.x += (before[0] - box.left) * graph.view.k; // what was clicked stays under the hand
  graph.view.y += (before[1] - box.top) * graph.view.k;
}
function take(box) {
  graph.now = box;
  if (box.inside) toggle(box);
  else open(box.kernel);
}
/** The next box in a direction: the nearest whose middle lies more that way than aside. */
function neighbour([dx, dy]) {
  const from = graph.now ?? graph.shown[1], middle = (b) => [b.left + b.w / 2, b.top + (b.isOpen ? BOX.title : b.h) / 2], [x, y] = middle(from);
  let best = null, least = Infinity;
  for (const b of graph.shown) {
    if (b === from || !b.above) continue;
    const [u, v] = middle(b), along = (u - x) * dx + (v - y) * dy, aside = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
    if (along > 1 && along + 3 * aside < least) [best, least] = [b, along + 3 * aside];
  }
  return best;
}
function told(box) {
  if (!box?.above) return " ";
  const kernels = box.inside ? `${box.kernels.length} kernels` : `${box.layer ? `${box.layer}, ` : ""}kernel ${box.kernel}`;
  return `${box.name}${box.kind ? ` (${box.kind})` : ""}: ${kernels}, ${time(box.seconds)}, ${percent(box.seconds / of.total)} of all${box.inside ? box.isOpen ? ", open" : ", folded" : ""}`;
}
function drawGraph() {
  if (!graph) {
    graph = { ...boxes(), opened: new Set(), view: null, now: null, kernel: -1, query: "" };
    openAtFirst();
  }
  graph.dearest = Math.max(...graph.root.inside.map((b) => b.seconds), 1e-12);
  graph.found = new Set(state.query ? D.kernels.map((_, i) => i).filter(matches) : []);
  laidOut();
  const note = el("p", { class: "soft", role: "status" }, told(graph.now));
  const picture = canvas(0, (g, width, height) => paintGraph(g, width, height, picture));
  const again = () => { note.textContent = told(graph.now); picture.paint(); };
  const zoom = (by, x = picture.clientWidth / 2, y = picture.clientHeight / 2) => {
    const v = graph.view, k = Math.min(4, Math.max(FARTHEST, v.k * by));
    graph.view = { k, x: x - (x - v.x) * k / v.k, y: y - (y - v.y) * k / v.k };
    picture.paint();
  };
  const all = () => { fit([graph.root], picture); picture.paint(); };
  const at = (e) => {
    const r = picture.getBoundingClientRect(), { x, y, k } = graph.view, u = (e.clientX - r.left - x) / k, v = (e.clientY - r.top - y) / k;
    return graph.shown.findLast((b) => b.above && u >= b.left && u <= b.left + b.w && v >= b.top && v <= b.top + b.h);
  };
  let from = null, moved = false;
  picture.addEventListener("wheel", (e) => { e.preventDefault(); const r = picture.getBoundingClientRect(); zoom(Math.exp(-e.deltaY / 500), e.clientX - r.left, e.clientY - r.top); }, { passive: false });
  picture.addEventListener("pointerdown", (e) => { from = [e.clientX, e.clientY]; moved = false; picture.setPointerCapture(e.pointerId); });
  picture.addEventListener("pointermove", (e) => {
    if (!from) return (note.textContent = told(at(e) ?? graph.now));
    const [dx, dy] = [e.clientX - from[0], e.clientY - from[1]];
    if (!moved && Math.hypot(dx, dy) < 4) return;
    moved = true;
    graph.view = { ...graph.view, x: graph.view.x + dx, y: graph.view.y + dy };
    from = [e.clientX, e.clientY];
    picture.paint();
  });
  picture.addEventListener("pointerup", (e) => { const box = at(e); from = null; if (!moved && box) { take(box); again(); } });
  const go = (way) => {
    const next = neighbour(way);
    if (!next) return;
    graph.now = next;
    const { view: v } = graph, x = (next.left + next.w / 2) * v.k + v.x, y = (next.top + 20) * v.k + v.y;
    if (x < 40 || x > picture.clientWidth - 40) v.x += picture.clientWidth / 2 - x;
    if (y < 20 || y > picture.clientHeight - 20) v.y += picture.clientHeight / 2 - y;
    again();
  };
  const keys = {
    "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: all, Enter: () => graph.now && (take(graph.now), again()),
    ArrowLeft: () => go([-1, 0]), ArrowRight: () => go([1, 0]), ArrowUp: () => go([0, -1]), ArrowDown: () => go([0, 1]),
  };
  picture.addEventListener("keydown", (e) => { if (keys[e.key] && !e.ctrlKey && !e.metaKey) { e.preventDefault(); e.stopPropagation(); keys[e.key](); } });
  picture.className = "graph";
  picture.setAttribute("role", "application");
  picture.setAttribute("aria-label", "The model: layers, and in them kernels with their ops. Arrows go from box to box, Enter opens; the list below has the same.");
  if (graph.query !== state.query) [graph.query, graph.view] = [state.query, null];
  return [
    el("p", {}, el("button", { onclick: () => zoom(1.5) }, "Nearer"), " ", el("button", { onclick: () => zoom(1 / 1.5) }, "Farther"), " ", el("button", { onclick: all }, "All"),
      el("span", { class: "soft" }, " wheel, drag; arrows and Enter, + and −, 0; a box opens by a click, and a kernel's shows it. Lines are values; bars are time.")),
    picture, note,
  ];
}
