// @ts-check
/** Turns an input of demo.json into an element for what the visitor enters, and that into the value that the program takes. */
import { Pad, SIDE } from "../mnist/pad.js";
import { image } from "../mnist/preprocess.js";
import { encoder } from "./text.js";

const SHOWN = 448; // pixels of the canvas that shows the part of a picture that the model sees

/**
 * @typedef {object} Input
 * @property {string} name
 * @property {HTMLElement} [element]
 * @property {() => any} value what the program takes; null before something is entered
 * @property {(example: {text: string, file?: string}) => Promise<void>} [example]
 * @property {() => number} [count] tokens that are entered
 * @property {(id: number) => void} [append] another token
 * @property {(id: number) => string} [word] of a token
 * @property {(tokens: Input | undefined) => void} [follows]
 */

/**
 * @param {any} facts
 * @param {() => void} changed
 * @returns {Input}
 */
export function inputOf(facts, changed) {
  return new KINDS[facts.kind](facts, changed);
}

/** @returns {any} */
function element(kind, fields = {}, ...children) {
  const made = Object.assign(document.createElement(kind), fields);
  made.append(...children);
  return made;
}

/** Numbers as the program takes them: a typed array for float32, else a list, which the module converts. */
function valueOf({ dtype, shape }, numbers) {
  return { data: dtype === "f32" ? Float32Array.from(numbers) : [...numbers], shape };
}

class Picture {
  constructor(facts, changed) {
    this.facts = facts;
    this.changed = changed;
    this.name = facts.name;
    /** @type {Float32Array | null} */
    this.pixels = null;
    /** @type {Pad | null} */
    this.pad = null;
    this.canvas = element("canvas", { width: SHOWN, height: Math.round((SHOWN * facts.high) / facts.wide), tabIndex: facts.draws ? 0 : -1 });
    this.canvas.setAttribute("role", facts.draws ? "application" : "img");
    this.canvas.setAttribute("aria-label", facts.draws ? "Drawing pad" : "The part of the picture that the model sees");
    this.hint = element("p", { textContent: facts.draws ? "Draw here." : "Drop or paste a picture, or choose one below." });
    this.drop = element("div", { className: facts.draws ? "drop pad" : "drop" }, this.canvas, this.hint);
    const file = element("input", { type: "file", accept: "image/*", className: "unseen" });
    const row = element("div", { className: "row" }, element("label", { className: "pick" }, file, element("span", { textContent: "Choose a picture" })));
    if (facts.draws) row.append(this.draw());
    this.element = element("div", { className: "picture" }, this.drop, row);
    const taken = (files) => files?.length && this.take(files[0], files[0].name || "What was pasted");
    file.addEventListener("change", () => (taken(file.files), (file.value = "")));
    addEventListener("paste", ({ clipboardData }) => taken(clipboardData?.files));
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => (event.preventDefault(), taken(event.dataTransfer?.files)));
  }

  /** A pad on the canvas; returns the button that clears it. */
  draw() {
    this.pad = new Pad(this.canvas, (strokes) => {
      const ink = image(strokes); // 784 numbers from 0 to 1
      this.hint.hidden = true;
      this.pixels = ink && Float32Array.from(ink, (v) => (255 * v - this.facts.less[0]) / this.facts.by[0]);
      this.changed();
    });
    const clear = element("button", { type: "button", textContent: "Clear" });
    clear.addEventListener("click", () => this.pad.clear());
    return clear;
  }

  async example({ file, text }) {
    const response = await fetch(new URL(file, import.meta.url));
    if (!response.ok) throw new Error(`${file} cannot be had (${response.status}): put the whole folder on the server.`);
    await this.take(await response.blob(), text);
  }

  /** Show the middle of a picture, and take its pixels. */
  async take(blob, name) {
    let source;
    try {
      source = await createImageBitmap(blob, { imageOrientation: "from-image" });
    } catch {
      this.hint.textContent = `${name} is no picture that this browser reads: choose a JPEG, PNG or WebP.`;
      return void (this.hint.hidden = false);
    }
    const { wide, high } = this.facts, canvas = element("canvas", { width: wide, height: high });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    this.hint.hidden = true;
    drawMiddle(context, source);
    this.pixels = this.scaled(context.getImageData(0, 0, wide, high).data);
    if (this.pad) this.strokes(canvas);
    else drawMiddle(this.canvas.getContext("2d"), source);
    this.changed();
  }

  /** Show a picture on the pad, which has no strokes then. */
  strokes(canvas) {
    const { pad, pixels } = this;
    pad.strokes = [];
    pad.paint();
    this.pixels = pixels;
    const pen = this.canvas.getContext("2d");
    pen.imageSmoothingEnabled = false;
    pen.drawImage(canvas, 0, 0, SIDE, SIDE);
  }

  /** Bytes of RGBA as the numbers that the model takes, in its order. */
  scaled(bytes) {
    const { channels, high, wide, first, less, by } = this.facts, count = high * wide;
    const numbers = new Float32Array(channels * count);
    for (let at = 0; at < count; at++)
      for (let c = 0; c < channels; c++) {
        const i = 4 * at;
        const byte = channels === 1 ? 0.299 * bytes[i] + 0.587 * bytes[i + 1] + 0.114 * bytes[i + 2] : bytes[i + c];
        numbers[first ? c * count + at : at * channels + c] = (byte - less[c]) / by[c];
      }
    return numbers;
  }

  value() {
    const { dtype } = this.facts, { pixels } = this;
    return pixels && valueOf(this.facts, dtype === "u8" ? pixels.map((v) => Math.min(255, Math.max(0, Math.round(v)))) : pixels);
  }
}

/** Fill a canvas with the middle of a picture, on white where it is transparent. */
function drawMiddle(context, source) {
  const { width, height } = context.canvas, scale = Math.min(source.width / width, source.height / height);
  const [wide, high] = [width * scale, height * scale];
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(source, (source.width - wide) / 2, (source.height - high) / 2, wide, high, 0, 0, width, height);
}

class Fields {
  constructor(facts, changed) {
    this.facts = facts;
    this.changed = changed;
    this.name = facts.name;
    this.fields = facts.names.map(() => element("input", { type: "number", step: facts.whole ? "1" : "any", value: "0", required: true }));
    const labels = facts.names.map((name, i) => element("label", {}, element("span", { textContent: name }), this.fields[i]));
    this.element = element("div", { className: "fields" }, ...labels);
    this.element.addEventListener("input", changed);
  }

  async example({ text }) {
    const numbers = numbersIn(text, this.facts, this.fields.length);
    this.fields.forEach((field, i) => (field.value = String(numbers[i])));
    this.changed();
  }

  value() {
    const wrong = this.fields.findIndex((field) => !field.validity.valid);
    if (wrong >= 0) throw new Error(`${this.facts.names[wrong]} is not a ${this.facts.whole ? "whole " : ""}number.`);
    return valueOf(this.facts, this.fields.map((field) => field.valueAsNumber));
  }
}

/** The numbers of a text, separated by commas or spaces. */
function numbersIn(text, { name, whole }, count) {
  const numbers = text.split(/[\s,;]+/).filter(Boolean).map(Number), wrong = numbers.findIndex((n) => !Number.isFinite(n) || (whole && !Number.isInteger(n)));
  if (wrong >= 0) throw new Error(`Number ${wrong + 1} of ${name} is not a ${whole ? "whole " : ""}number.`);
  if (numbers.length !== count) throw new Error(`${name} takes ${count} numbers, and ${numbers.length} are entered.`);
  return numbers;
}

class Text {
  constructor(facts, changed, label) {
    this.facts = facts;
    this.changed = changed;
    this.name = facts.name;
    this.field = element("textarea", { rows: 4, spellcheck: false });
    this.note = element("p", { className: "facts" });
    this.element = element("div", { className: "text" }, element("label", {}, element("span", { textContent: label }), this.field), this.note);
    this.field.addEventListener("input", changed);
  }

  async example({ text }) {
    this.field.value = text;
    this.changed();
  }
}

class List extends Text {
  constructor(facts, changed) {
    const count = facts.shape.reduce((a, b) => a * b, 1);
    super(facts, changed, `${facts.name}: ${count} numbers, separated by commas or spaces`);
    this.length = count;
  }

  value() {
    return this.field.value.trim() ? valueOf(this.facts, numbersIn(this.field.value, this.facts, this.length)) : null;
  }
}

class Tokens extends Text {
  constructor(facts, changed) {
    super(facts, changed, facts.by === "ids" ? `${facts.name}: numbers of tokens, separated by commas or spaces` : "Text");
    this.length = facts.shape.at(-1);
    this.encoder = encoder(facts);
    /** @type {number[]} */
    this.ids = [];
  }

  count() {
    return this.ids.length;
  }

  word(id) {
    return this.encoder.word(id);
  }

  append(id) {
    this.field.value += this.encoder.joined(id, this.field.value);
    this.changed();
  }

  value() {
    const text = this.field.value;
    if (!text.trim()) return null;
    const ids = this.encoder.ids(text), kept = this.encoder.cut(ids, this.length);
    const cut = ids.length > this.length ? `, of which the model sees ${this.length}` : "";
    this.note.textContent = `${ids.length} token${ids.length === 1 ? "" : "s"}${cut}`;
    this.ids = kept;
    return valueOf(this.facts, [...kept, ...Array(this.length - kept.length).fill(this.encoder.padding)]);
  }
}

/** What follows the tokens: 1 for each and 0 behind them, their places, or only zeros. It must come after them. */
class Derived {
  constructor(facts) {
    this.facts = facts;
    this.name = facts.name;
    /** @type {Input | undefined} */
    this.tokens = undefined;
  }

  follows(tokens) {
    this.tokens = tokens;
  }

  value() {
    const { kind, shape, dtype } = this.facts, length = shape.reduce((a, b) => a * b, 1);
    this.tokens?.value();
    const used = this.tokens?.count() ?? length;
    const at = { mask: (i) => (i < used ? 1 : 0), zeros: () => 0, positions: (i) => i }[kind];
    const numbers = Array.from({ length }, (_, i) => at(i % shape.at(-1)));
    return valueOf(this.facts, dtype === "bool" ? numbers.map(Boolean) : numbers);
  }
}

const KINDS = { picture: Picture, fields: Fields, list: List, tokens: Tokens, mask: Derived, zeros: Derived, positions: Derived };
