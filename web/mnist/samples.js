// @ts-check
/** Ten digits as strokes on the pad, as a hand draws them: what a click on a sample puts there. */
import { SIDE } from "./pad.js";

/** Points on an ellipse about (x, y), from angle to angle in turns, clockwise from the right. */
function arc(x, y, wide, high, from, to, count = 16) {
  return Array.from({ length: count + 1 }, (_, i) => {
    const angle = 2 * Math.PI * (from + ((to - from) * i) / count);
    return [x + wide * Math.cos(angle), y + high * Math.sin(angle)];
  });
}

const STROKES = [ // in parts of the side
  [arc(0.5, 0.5, 0.22, 0.33, -0.25, 0.75, 28)],
  [[[0.55, 0.15], [0.47, 0.85]]],
  [[...arc(0.5, 0.33, 0.2, 0.17, -0.5, 0.1), [0.28, 0.82], [0.75, 0.8]]],
  [[...arc(0.47, 0.33, 0.2, 0.17, -0.4, 0.22), ...arc(0.47, 0.66, 0.23, 0.18, -0.22, 0.4)]],
  [[[0.32, 0.18], [0.28, 0.52], [0.72, 0.5]], [[0.66, 0.15], [0.6, 0.88]]],
  [[[0.7, 0.17], [0.36, 0.18], [0.34, 0.45], ...arc(0.48, 0.62, 0.22, 0.2, -0.3, 0.35)]],
  [[[0.62, 0.15], [0.45, 0.35], ...arc(0.5, 0.66, 0.18, 0.18, 0.52, -0.5, 24)]],
  [[[0.27, 0.2], [0.72, 0.2], [0.55, 0.5], [0.45, 0.85]]],
  [[...arc(0.5, 0.33, 0.16, 0.16, -0.1, -0.75, 18), ...arc(0.5, 0.67, 0.19, 0.18, -0.25, 0.75, 22),
    ...arc(0.5, 0.33, 0.16, 0.16, 0.25, -0.1, 8)]],
  [[...arc(0.48, 0.36, 0.19, 0.18, -0.1, -1, 22), [0.67, 0.3], [0.64, 0.55], [0.55, 0.86]]],
];

export const SAMPLES = STROKES.map((strokes) => strokes.map((stroke) => dense(stroke.map(([x, y]) => [SIDE * x, SIDE * y]))));

/** The same line with a point every few units, as a pointer gives them. */
function dense(stroke) {
  return stroke.flatMap(([x, y], i) => {
    const [toX, toY] = stroke[i + 1] ?? [x, y], count = Math.max(1, Math.round(Math.hypot(toX - x, toY - y) / 8));
    return Array.from({ length: count }, (_, k) => [x + ((toX - x) * k) / count, y + ((toY - y) * k) / count]);
  });
}

const SVG = "http://www.w3.org/2000/svg";

/** A button for each digit, which shows it; `onchoose(strokes)` when it is pressed. */
export function buttons(onchoose) {
  return SAMPLES.map((strokes, digit) => {
    const button = document.createElement("button"), picture = document.createElementNS(SVG, "svg");
    button.type = "button";
    button.setAttribute("aria-label", `Draw a ${digit}`);
    picture.setAttribute("viewBox", `0 0 ${SIDE} ${SIDE}`);
    picture.setAttribute("aria-hidden", "true");
    for (const stroke of strokes) {
      const line = document.createElementNS(SVG, "polyline");
      line.setAttribute("points", stroke.map((point) => point.map(Math.round).join()).join(" "));
      picture.append(line);
    }
    button.append(picture);
    button.addEventListener("click", () => onchoose(strokes));
    return button;
  });
}
