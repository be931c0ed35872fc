// @ts-check
/** Shows what a run gives: text and values, tracebacks, pictures, its kernels, and those in the inspector's frame. */
import { copier, el, listing } from "./wgsl.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDE = 480, HIGH = 220, LEFT = 66, BOTTOM = 22, TOP = 8, RIGHT = 10; // of curves, in units of the drawing
const PALETTE = 6; // colors of curves in runner.css: c0 to c5

/** The output of one run, in a box that is emptied first. */
export class Output {
  /**
   * @param {HTMLElement} box
   * @param {(line: number) => void} [goto] shows a line of the program
   */
  constructor(box, goto) {
    this.box = box;
    this.goto = goto;
    /** @type {HTMLElement | null} */
    this.text = null; // the text that the next print continues
    box.replaceChildren();
  }

  /** @param {any} piece of runner.py */
  add(piece) {
    const { kind } = piece;
    if (kind === "text") return this.print(piece.text, piece.stream);
    if (kind === "value") return this.print(`${piece.text}\n`, "value");
    this.text = null;
    this.box.append(kind === "image" ? image(piece) : curves(piece));
  }

  /**
   * @param {string} text
   * @param {string} stream "out", "err" or "value"
   */
  print(text, stream) {
    if (this.text?.dataset.stream !== stream) {
      this.text = el("pre", { class: stream, "data-stream": stream });
      this.box.append(this.text);
    }
    const near = this.box.scrollTop + this.box.clientHeight > this.box.scrollHeight - 40;
    this.text?.append(text);
    if (near) this.box.scrollTop = this.box.scrollHeight;
  }

  /** @param {import("./runner.js").Ended} ended */
  finish({ error, trace, line, stopped }) {
    this.text = null;
    if (stopped) this.box.append(el("p", { class: "told" }, "Stopped. The names of the program are gone."));
    else if (error) {
      const go = line && this.goto && el("button", { type: "button", onclick: () => this.goto?.(line) }, `Line ${line}`);
      this.box.append(el("div", { class: "wrong" }, el("pre", { class: "trace" }, trace ?? error), go));
    } else if (!this.box.children.length) {
      this.box.append(el("p", { class: "told" }, "It printed nothing, and its last line is no value."));
    }
    this.box.scrollTop = this.box.scrollHeight;
  }
}

/** @param {{width: number, height: number, rgb: Uint8Array}} piece */
function image({ width, height, rgb }) {
  const canvas = el("canvas", { width, height, role: "img", "aria-label": `An image of ${width} by ${height} pixels` });
  const pen = canvas.getContext("2d"), data = new ImageData(width, height);
  for (let i = 0, j = 0; i < rgb.length; i += 3, j += 4) {
    data.data.set([rgb[i], rgb[i + 1], rgb[i + 2], 255], j);
  }
  pen?.putImageData(data, 0, 0);
  canvas.style.width = `${width * Math.max(1, Math.floor(320 / Math.max(width, height)))}px`;
  return canvas;
}

/** @param {{curves: {name: string, points: [number, number][]}[], log: boolean}} piece */
function curves({ curves: all, log }) {
  const points = all.flatMap((curve) => curve.points).filter(([, y]) => Number.isFinite(y));
  if (!points.length) return el("p", { class: "told" }, "No finite values to draw.");
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const least = (values) => values.reduce((a, b) => Math.min(a, b)), most = (values) => values.reduce((a, b) => Math.max(a, b));
  const low = [least(xs), least(ys)], high = [most(xs), most(ys)];
  const part = (value, axis) => (high[axis] > low[axis] ? (value - low[axis]) / (high[axis] - low[axis]) : 0.5);
  const x = (value) => LEFT + part(value, 0) * (WIDE - LEFT - RIGHT), y = (value) => HIGH - BOTTOM - part(value, 1) * (HIGH - BOTTOM - TOP);
  const number = (value) => `${+(log ? 10 ** value : value).toPrecision(4)}`;
  const drawn = all.map(({ points: own }, i) => lines(own, x, y, `c${i % PALETTE}`));
  const box = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": described(all, number) },
    svg("path", { class: "axis", d: `M${LEFT} ${TOP}V${HIGH - BOTTOM}H${WIDE - RIGHT}` }),
    label(LEFT - 6, TOP + 8, number(high[1]), "end"), label(LEFT - 6, HIGH - BOTTOM, number(low[1]), "end"),
    label(LEFT, HIGH - 5, `${+low[0].toPrecision(6)}`, "start"), label(WIDE - RIGHT, HIGH - 5, `${+high[0].toPrecision(6)}`, "end"), ...drawn.flat());
  const key = all.length > 1 && el("figcaption", {}, all.map(({ name }, i) => el("span", { class: `key c${i % PALETTE}` }, name)));
  return el("figure", { class: "curves" }, key, box);
}

/** A line with a gap at each value that is not finite; one point alone is a dot. */
function lines(points, x, y, name) {
  const parts = [[]];
  for (const [a, b] of points) if (Number.isFinite(b)) parts[parts.length - 1].push([x(a), y(b)]); else parts.push([]);
  return parts.filter((part) => part.length).map((part) => part.length > 1
    ? svg("polyline", { class: name, points: part.map((at) => at.map((v) => v.toFixed(1)).join()).join(" ") })
    : svg("circle", { class: name, cx: part[0][0], cy: part[0][1], r: 2.5 }));
}

const label = (x, y, text, anchor) => svg("text", { x, y, "text-anchor": anchor }, text);

function described(all, number) {
  const told = all.map(({ name, points }) => `${all.length > 1 ? `${name}: ` : ""}${points.length} values${points.length ? `, the last ${number(points[points.length - 1][1])}` : ""}`);
  return `Curves. ${told.join("; ")}`;
}

/**
 * @param {string} tag
 * @param {Record<string, any>} attributes
 * @param {...any} children
 */
function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/**
 * The kernels of a run: each text once, with how often it was planned; the WGSL where it is opened.
 * @param {import("./runner.js").Kernel[]} kernels
 */
export function kernelList(kernels) {
  return kernels.map(({ name, template, groups, times, wgsl }) => {
    const dims = groups.filter((n, i) => n > 1 || !i).join(" × ");
    const fold = el("details", {}, el("summary", {}, el("b", {}, name), " ",
      el("span", {}, `${times > 1 ? `${times} times · ` : ""}${dims} group${dims === "1" ? "" : "s"} · ${template}`)));
    fold.addEventListener("toggle", () => {
      if (!fold.open || fold.children.length > 1) return;
      const text = listing(wgsl, `WGSL of ${name}`);
      fold.append(el("div", { class: "text" }, copier(wgsl, () => text), text));
    });
    return el("li", {}, fold);
  });
}

/**
 * The inspector's page in a frame, with an inspection.
 * @param {string} base the site
 * @param {string} inspection packed
 */
export function inspectorFrame(base, inspection) {
  const frame = el("iframe", { class: "inspector", title: "The kernels of this run in the inspector", src: new URL("inspector/", base).href });
  const answer = ({ data, origin, source }) => {
    if (source !== frame.contentWindow || origin !== location.origin || data !== "ready") return;
    frame.contentWindow?.postMessage({ inspection }, location.origin);
    removeEventListener("message", answer);
  };
  addEventListener("message", answer);
  return frame;
}
