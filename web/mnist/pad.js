// @ts-check
/**
 * Turns a canvas into paper: strokes by mouse, finger, pen or keyboard. `onchange(strokes)` is called as they grow;
 * strokes are lists of [x, y] on a square of SIDE units, whatever the canvas's size on the screen. `undo()` takes back
 * the last one, `play(strokes)` draws others in their place, as a hand would.
 */

export const SIDE = 280;
const PEN = 16, STEP = 10, FINE = 2; // units: the line's width; what an arrow key moves
const PLAYED = 500; // milliseconds that a played digit takes
const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Pad {
  constructor(canvas, onchange) {
    this.canvas = canvas;
    this.onchange = onchange;
    this.strokes = [];
    this.open = new Map(); // pointer id, or "keys" -> its stroke
    this.cursor = null; // where the keyboard's pen is, once there is one
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"])
      canvas.addEventListener(name, (event) => this.open.delete(event.pointerId));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => this.lift());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    new ResizeObserver(() => this.paint()).observe(canvas);
  }

  clear() {
    this.set([]);
  }

  undo() {
    this.set(this.strokes.slice(0, -1));
  }

  /** Others in the place of the strokes; whatever is being drawn ends. */
  set(strokes) {
    cancelAnimationFrame(this.frame);
    this.strokes = strokes;
    this.open.clear();
    this.changed();
  }

  play(strokes) {
    this.set([]);
    this.cursor = null;
    const all = strokes.reduce((sum, stroke) => sum + stroke.length, 0), begun = performance.now();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden;
    const next = (now) => {
      let left = still ? all : Math.max(1, Math.ceil(Math.min(1, (now - begun) / PLAYED) * all));
      this.strokes = [];
      for (const stroke of strokes) {
        if (left > 0) this.strokes.push(stroke.slice(0, left));
        left -= stroke.length;
      }
      if (left < 0) this.frame = requestAnimationFrame(next);
      this.changed();
    };
    next(begun);
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * SIDE, ((event.clientY - box.top) / box.height) * SIDE];
  }

  begin(id, point) {
    cancelAnimationFrame(this.frame); // of what is being played
    const stroke = [point];
    this.open.set(id, stroke);
    this.strokes.push(stroke);
    this.changed();
  }

  down(event) {
    if (event.button) return;
    event.preventDefault(); // no selection, no scrolling
    this.canvas.focus({ preventScroll: true });
    this.cursor = null;
    this.canvas.setPointerCapture(event.pointerId);
    this.begin(event.pointerId, this.at(event));
  }

  move(event) {
    const stroke = this.open.get(event.pointerId);
    if (!stroke) return;
    const parts = event.getCoalescedEvents?.() ?? [];
    for (const part of parts.length ? parts : [event]) stroke.push(this.at(part));
    this.changed();
  }

  key(event) {
    const direction = MOVES[event.key];
    if (direction) {
      const step = event.shiftKey ? FINE : STEP;
      const from = this.cursor ?? [SIDE / 2, SIDE / 2];
      this.cursor = from.map((value, i) => Math.min(SIDE - PEN / 2, Math.max(PEN / 2, value + step * direction[i])));
      const stroke = this.open.get("keys");
      if (stroke) stroke.push(this.cursor);
      stroke ? this.changed() : this.paint();
    } else if (event.key === " ") {
      this.cursor ??= [SIDE / 2, SIDE / 2];
      if (this.open.has("keys")) this.lift();
      else this.begin("keys", this.cursor);
    } else if (event.key === "Backspace" || (event.key === "z" && (event.ctrlKey || event.metaKey))) this.undo();
    else if (["Delete", "Escape"].includes(event.key)) this.clear();
    else return;
    event.preventDefault();
  }

  lift() {
    this.open.delete("keys");
    this.paint();
  }

  changed() {
    this.paint();
    this.onchange(this.strokes);
  }

  paint() {
    const { canvas } = this, side = Math.round(canvas.clientWidth * devicePixelRatio);
    if (!side) return;
    if (canvas.width !== side) canvas.width = canvas.height = side;
    const pen = canvas.getContext("2d"), style = getComputedStyle(canvas);
    pen.setTransform(side / SIDE, 0, 0, side / SIDE, 0, 0);
    pen.clearRect(0, 0, SIDE, SIDE);
    pen.strokeStyle = style.getPropertyValue("--ink");
    pen.lineWidth = PEN;
    pen.lineCap = pen.lineJoin = "round";
    for (const stroke of this.strokes) {
      pen.beginPath();
      pen.moveTo(...stroke[0]);
      for (let i = 1; i < stroke.length - 1; i++) { // through the middles of the way: no corners
        const [x, y] = stroke[i], [toX, toY] = stroke[i + 1];
        pen.quadraticCurveTo(x, y, (x + toX) / 2, (y + toY) / 2);
      }
      pen.lineTo(...stroke[stroke.length - 1]);
      pen.stroke();
    }
    if (!this.cursor) return;
    const [x, y] = this.cursor;
    pen.strokeStyle = style.getPropertyValue("--flame");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x, y, this.open.has("keys") ? PEN / 2 : PEN, 0, 7);
    pen.stroke();
  }
}
