// @ts-check
/** Turns series of [x, y] into curves on a canvas: axes, round ticks, lines or dots. */

const LEFT = 48, RIGHT = 10, TOP = 8, BOTTOM = 22;

/** series: [{points, colour: a CSS variable, wide, dots}]; y goes from 0 to `top`, its ticks are written by `label`. */
export function plot(canvas, series, { top, label, end }) {
  const width = canvas.clientWidth, high = canvas.clientHeight, scale = devicePixelRatio;
  if (!width) return;
  canvas.width = width * scale;
  canvas.height = high * scale;
  const pen = canvas.getContext("2d"), colour = (name) => getComputedStyle(canvas).getPropertyValue(name);
  pen.scale(scale, scale);
  const last = Math.max(end, 1, ...series.flatMap(({ points }) => points.slice(-1).map(([x]) => x)));
  const x = (value) => LEFT + (value / last) * (width - LEFT - RIGHT);
  const y = (value) => high - BOTTOM - (Math.min(value, top) / top) * (high - TOP - BOTTOM);
  pen.font = "12px system-ui, sans-serif";
  pen.fillStyle = colour("--soft");
  pen.strokeStyle = colour("--line");
  for (const value of ticks(top)) {
    pen.textAlign = "right";
    pen.fillText(label(value), LEFT - 8, y(value) + 4);
    line(pen, [[LEFT, y(value)], [width - RIGHT, y(value)]]);
  }
  for (const value of ticks(last)) {
    pen.textAlign = x(value) > width - 30 ? "right" : "center";
    pen.fillText(value, x(value), high - 6);
  }
  pen.lineJoin = "round";
  for (const { points, colour: name, wide = 1, dots } of series) {
    pen.strokeStyle = pen.fillStyle = colour(name);
    pen.lineWidth = wide;
    line(pen, points.map(([a, b]) => [x(a), y(b)]));
    for (const [a, b] of dots ? points : []) {
      pen.beginPath();
      pen.arc(x(a), y(b), 3.5, 0, 7);
      pen.fill();
    }
  }
}

function line(pen, points) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.stroke();
}

/** The points with each y as the mean of those before it, a fortieth of all: what a noisy curve tends to. */
export function smoothed(points) {
  const count = Math.max(1, Math.round(points.length / 40));
  return points.map(([x], i) => {
    const near = points.slice(Math.max(0, i - count + 1), i + 1);
    return [x, near.reduce((sum, [, y]) => sum + y, 0) / near.length];
  });
}

/** Round numbers from 0 to `last`, about five of them. */
function ticks(last) {
  const rough = last / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((n) => n * power >= rough * 0.999);
  return Array.from({ length: Math.floor(last / step + 1.001) }, (_, i) => Number((i * step).toPrecision(6)));
}
