// @ts-check
/**
 * Turns strokes into what MNIST's digits look like: 28 x 28 numbers in 0 to 1. As there, the digit is scaled to fit
 * a box of 20 x 20 and shifted so that its centre of mass is in the middle (LeCun et al., "The MNIST database").
 * Pixels are computed here and not read from a canvas: browsers that fend off fingerprinting falsify what is read.
 */

export const SIZE = 28;
const BOX = 20, WIDTH = 2.5; // of the pen, in pixels of the 28
const LEAST = 30; // a dot or a short dash, in pixels of the page, is not blown up to the box

/** strokes: lists of [x, y] in pixels of the page -> Float32Array(784), or null where there is no ink. */
export function image(strokes) {
  const points = strokes.flat();
  if (!points.length) return null;
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const left = least(xs), top = least(ys), wide = -least(xs.map((x) => -x)) - left, high = -least(ys.map((y) => -y)) - top;
  const scale = (BOX - WIDTH) / Math.max(wide, high, LEAST);
  const segments = strokes.flatMap((stroke) => lines(stroke.map(([x, y]) =>
    [(x - left - wide / 2) * scale + SIZE / 2, (y - top - high / 2) * scale + SIZE / 2])));
  const [x, y] = centre(ink(segments, 0, 0));
  return ink(segments, SIZE / 2 - x, SIZE / 2 - y);
}

function least(numbers) {
  return numbers.reduce((a, b) => Math.min(a, b), Infinity);
}

/** Points as segments [x0, y0, x1, y1]; points nearer than a third of a pixel are left out, a dot is a segment, too. */
function lines(points) {
  const kept = points.filter(([x, y], i) => !i || i === points.length - 1 || apart(points[i - 1], [x, y]) > 0);
  const out = [];
  let last = kept[0];
  for (const point of kept.slice(1)) {
    if (apart(last, point) < 1 / 3 && point !== kept[kept.length - 1]) continue;
    out.push([...last, ...point]);
    last = point;
  }
  return out.length ? out : [[...last, ...last]];
}

function apart([a, b], [c, d]) {
  return Math.hypot(a - c, b - d);
}

/** How much of each pixel the pen covers, after a shift: full inside, falling over one pixel at its edge. */
function ink(segments, dx, dy) {
  const out = new Float32Array(SIZE * SIZE);
  for (const [x0, y0, x1, y1] of segments) {
    const ax = x0 + dx, ay = y0 + dy, wide = x1 - x0, high = y1 - y0, length = wide * wide + high * high;
    const reach = WIDTH / 2 + 0.5;
    const first = Math.max(0, Math.floor(Math.min(ay, ay + high) - reach)), last = Math.min(SIZE - 1, Math.ceil(Math.max(ay, ay + high) + reach));
    const from = Math.max(0, Math.floor(Math.min(ax, ax + wide) - reach)), to = Math.min(SIZE - 1, Math.ceil(Math.max(ax, ax + wide) + reach));
    for (let row = first; row <= last; row++)
      for (let column = from; column <= to; column++) {
        const x = column + 0.5 - ax, y = row + 0.5 - ay;
        const t = length ? Math.min(1, Math.max(0, (x * wide + y * high) / length)) : 0;
        const covered = reach - Math.hypot(x - t * wide, y - t * high);
        const at = row * SIZE + column;
        if (covered > out[at]) out[at] = Math.min(1, covered);
      }
  }
  return out;
}

function centre(pixels) {
  let mass = 0, x = 0, y = 0;
  pixels.forEach((value, i) => {
    mass += value;
    x += value * ((i % SIZE) + 0.5);
    y += value * (Math.floor(i / SIZE) + 0.5);
  });
  return [x / mass, y / mass];
}
