/** Turns series of [x, y] into curves on a canvas: axes, a few ticks, lines or dots. */

const LEFT = 40, RIGHT = 10, TOP = 8, BOTTOM = 22;

/** series: [{points, colour: a CSS variable, dots}]; y goes from 0 to `top`, its ticks are written by `label`. */
export function plot(canvas, series, { top, label, end }) {
  const wide = canvas.clientWidth, high = canvas.clientHeight, scale = devicePixelRatio;
  if (!wide) return;
  canvas.width = wide * scale;
  canvas.height = high * scale;
  const pen = canvas.getContext("2d"), colour = (name) => getComputedStyle(canvas).getPropertyValue(name);
  pen.scale(scale, scale);
  const last = Math.max(end, 1, ...series.flatMap(({ points }) => points.slice(-1).map(([x]) => x)));
  const x = (value) => LEFT + (value / last) * (wide - LEFT - RIGHT);
  const y = (value) => high - BOTTOM - (Math.min(value, top) / top) * (high - TOP - BOTTOM);
  pen.font = "12px system-ui, sans-serif";
  pen.fillStyle = colour("--soft");
  pen.strokeStyle = colour("--line");
  for (let i = 0; i <= 4; i++) {
    pen.textAlign = "right";
    pen.fillText(label((top * i) / 4), LEFT - 6, y((top * i) / 4) + 4);
    line(pen, [[LEFT, y((top * i) / 4)], [wide - RIGHT, y((top * i) / 4)]]);
    pen.textAlign = i ? (i === 4 ? "right" : "center") : "left";
    pen.fillText(Math.round((last * i) / 4), x((last * i) / 4), high - 6);
  }
  for (const { points, colour: name, dots } of series) {
    pen.strokeStyle = pen.fillStyle = colour(name);
    pen.lineWidth = 2;
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
