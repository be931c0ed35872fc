// @ts-check
/**
 * Turns a textarea into an editor of Python: colors behind its text, line numbers, Tab and Shift-Tab, the next line's
 * indentation, and a marked line. Escape frees Tab for moving on. Undo is the browser's own.
 */
import { el } from "./wgsl.js";

const WORDS = "and as assert async await break class continue def del elif else except finally for from global if import in is"
  + " lambda match nonlocal not or pass raise return try while with yield False None True";
const STRING = "[rbfuRBFU]{0,2}(?:\"\"\"[\\s\\S]*?(?:\"\"\"|$)|'''[\\s\\S]*?(?:'''|$)|\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'?)";
const TOKEN = new RegExp(`(#[^\\n]*)|(${STRING})|((?:(?<=\\n|^)[ \\t]*)@[\\w.]+)|\\b(${WORDS.split(" ").join("|")})\\b|(\\b\\d[\\w.]*)|((?<=\\b(?:def|class)\\s+)\\w+)`, "g");
const CLASSES = ["c", "s", "n", "k", "d", "n"]; // of TOKEN's groups
const STEP = "    ";

/** @param {string} source */
export function colored(source) {
  const parts = [];
  let done = 0;
  for (const found of source.matchAll(TOKEN)) {
    const which = found.slice(1).findIndex((group) => group !== undefined);
    parts.push(source.slice(done, found.index), el("span", { class: CLASSES[which] }, found[0]));
    done = found.index + found[0].length;
  }
  return [...parts, source.slice(done)];
}

export class Editor {
  /**
   * @param {HTMLTextAreaElement} area inside a box of its own
   * @param {() => void} onrun Ctrl-Enter
   */
  constructor(area, onrun) {
    this.area = area;
    this.onrun = onrun;
    this.free = false; // after Escape, Tab moves the focus
    this.behind = el("pre", { class: "colors", "aria-hidden": "true" });
    this.numbers = el("pre", { class: "numbers", "aria-hidden": "true" });
    area.before(this.numbers, this.behind);
    area.addEventListener("input", () => this.draw());
    area.addEventListener("scroll", () => this.follow());
    area.addEventListener("keydown", (event) => this.key(event));
    area.addEventListener("blur", () => (this.free = false));
    this.draw();
  }

  get source() { return this.area.value; }
  set source(text) {
    this.area.value = text;
    this.area.scrollTop = 0;
    this.draw();
  }

  draw() {
    const count = this.source.split("\n").length;
    this.numbers.replaceChildren(...Array.from({ length: count }, (_, i) => el("span", {}, `${i + 1}\n`)));
    this.behind.replaceChildren(...colored(this.source), "\n");
    this.follow();
  }

  follow() {
    this.behind.scrollTop = this.numbers.scrollTop = this.area.scrollTop;
    this.behind.scrollLeft = this.area.scrollLeft;
  }

  /** Mark a line by its number, and show it. */
  mark(line) {
    for (const [i, one] of [...this.numbers.children].entries()) one.classList.toggle("wrong", i + 1 === line);
    if (!line) return;
    const high = parseFloat(getComputedStyle(this.area).lineHeight), top = (line - 1) * high;
    if (top < this.area.scrollTop || top + high > this.area.scrollTop + this.area.clientHeight)
      this.area.scrollTop = top - this.area.clientHeight / 2;
  }

  /** Select a line. */
  select(line) {
    const lines = this.source.split("\n"), from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.area.focus();
    this.area.setSelectionRange(from, from + (lines[line - 1] ?? "").length);
    this.mark(line);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.isComposing) return; // Enter ends the composition of a word
    const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
    if (key === "Enter" && (ctrlKey || metaKey)) {
      event.preventDefault();
      return this.onrun();
    }
    if (ctrlKey || metaKey || altKey) return;
    if (key === "Escape") return void (this.free = true);
    if (key === "Tab" && !this.free) {
      event.preventDefault();
      this.shift(shiftKey);
    } else if (key === "Enter") {
      event.preventDefault();
      this.newLine();
    }
    if (key !== "Tab" && key !== "Shift") this.free = false;
  }

  newLine() {
    const { selectionStart: at, value } = this.area, line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
    const indent = /^[ \t]*/.exec(line)?.[0] ?? "", more = /:\s*(#.*)?$/.test(line) ? STEP : "";
    this.insert(`\n${indent}${more}`);
  }

  /** Move the lines of the selection to the right or to the left; without one, go to the next stop. */
  shift(back) {
    const { selectionStart: from, selectionEnd: to, value } = this.area;
    const first = value.lastIndexOf("\n", from - 1) + 1;
    if (from === to && !back) return this.insert(STEP.slice((from - first) % STEP.length));
    const lines = value.slice(first, to), moved = lines.split("\n").map((line) => (back ? line.replace(/^ {1,4}/, "") : line && STEP + line)).join("\n");
    this.area.setSelectionRange(first, to);
    this.insert(moved);
    const end = first + moved.length;
    const caret = Math.max(first, from - (lines.length - moved.length));
    if (from === to) this.area.setSelectionRange(caret, caret);
    else this.area.setSelectionRange(first, end);
  }

  /** As if it was typed: the browser can undo it. */
  insert(text) {
    this.area.focus();
    const typed = text ? document.execCommand("insertText", false, text) : document.execCommand("delete");
    if (!typed) this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
    this.draw();
  }
}
