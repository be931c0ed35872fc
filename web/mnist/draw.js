// @ts-check
/** Turns the pad's strokes into a prediction and ten bars that follow them; pages with a pad share it. */
import { image, SIZE } from "./preprocess.js";
import { Pad } from "./pad.js";
import { buttons } from "./samples.js";

const SPOKEN_AFTER = 700; // milliseconds without a change: a screen reader is not to hear every point of a stroke
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);

export class Draw {
  constructor(notice) {
    this.notice = notice;
    this.predict = null; // pixels -> ten probabilities, once there is a network
    this.pixels = null;
    this.busy = this.again = false;
    this.pad = new Pad(byId("digit"), (strokes) => {
      this.pixels = image(strokes);
      this.seen();
      this.ask();
    });
    this.bars = Array.from({ length: 10 }, (_, digit) => bar(digit));
    byId("bars").append(...this.bars);
    byId("samples").append(...buttons((strokes) => this.pad.play(strokes)));
    for (const name of ["clear", "undo"]) byId(name).addEventListener("click", () => this.pad[name]());
    this.show(null);
    this.seen();
  }

  /** A network is there: read what was drawn meanwhile. */
  ready(predict) {
    this.predict = predict;
    this.ask();
  }

  /** Draw a digit for those who have not drawn yet. */
  play(strokes) {
    if (!this.pixels) this.pad.play(strokes);
  }

  /** Read the newest strokes; while an answer is under way, all but the newest are skipped. */
  async ask() {
    if (!this.pixels) return this.show(null);
    if (!this.predict) {
      const wrong = byId("status").parentElement.classList.contains("wrong");
      byId("hint").textContent = wrong ? "There is no network to read it." : "Waiting for the network; your digit is kept.";
      return;
    }
    if (this.busy) return void (this.again = true);
    this.busy = true;
    try {
      do {
        this.again = false;
        const asked = this.pixels, begun = performance.now();
        const found = await this.predict(asked);
        if (this.pixels) this.show(found, performance.now() - begun);
      } while (this.again && this.pixels);
    } catch (error) {
      this.show(null);
      byId("hint").textContent = "That could not be read.";
      this.notice(`Reading the digit failed: ${error.message}`);
    } finally {
      this.busy = false;
    }
  }

  show(found, milliseconds) {
    const best = found ? found.reduce((a, value, i) => (value > found[a] ? i : a), 0) : -1;
    byId("prediction").textContent = found ? best : "–";
    byId("hint").textContent = found ? `${percent(found[best])} sure` : "Draw a digit from 0 to 9.";
    byId("speed").textContent = found ? milliseconds.toFixed(1) : "–";
    byId("speed").parentElement.classList.toggle("none", !found);
    this.bars.forEach((row, digit) => {
      const value = found ? found[digit] : 0;
      row.dataset.value = value;
      row.classList.toggle("best", digit === best);
      row.style.setProperty("--part", value);
      row.querySelector(".part").textContent = percent(value);
    });
    clearTimeout(this.timer);
    if (found) this.timer = setTimeout(() => {
      byId("spoken").textContent = `It reads ${best}, ${percent(found[best])} sure.`;
    }, SPOKEN_AFTER);
  }

  /** The digit as the network sees it, where a page shows that. */
  seen() {
    const pen = byId("seen")?.getContext("2d");
    if (!pen) return;
    const picture = pen.createImageData(SIZE, SIZE);
    for (let i = 0; i < SIZE * SIZE; i++) picture.data.fill(255 * (this.pixels?.[i] ?? 0), 4 * i, 4 * i + 3);
    for (let i = 3; i < picture.data.length; i += 4) picture.data[i] = 255;
    pen.putImageData(picture, 0, 0);
  }
}

function bar(digit) {
  const row = document.createElement("li");
  const [name, track, fill, part] = ["name", "track", "fill", "part"].map((kind) => {
    const made = document.createElement("span");
    made.className = kind;
    return made;
  });
  name.textContent = digit;
  track.append(fill);
  row.append(name, track, part);
  return row;
}

export function percent(part) {
  return `${(100 * part).toFixed(1)} %`;
}
