// @ts-check
/** Draws the cart and its pole on a canvas. Lengths are CartPole's: the track ends at 2.4 to either side, the pole is 1 long. */

const TRACK = 2.4, POLE = 1, MOST = (12 * Math.PI) / 180; // an angle beyond which an episode ends
const WIDE = 0.5, HIGH = 0.28; // of the cart

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} x of the cart
 * @param {number} angle of the pole, to the right
 */
export function drawCart(canvas, x, angle) {
  const width = canvas.clientWidth, high = canvas.clientHeight, scale = devicePixelRatio;
  if (!width) return;
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== Math.round(high * scale)) canvas.height = Math.round(high * scale);
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const colour = (name) => getComputedStyle(canvas).getPropertyValue(name);
  const unit = Math.min(width / (2 * TRACK + WIDE + 0.2), high / (POLE + HIGH + 0.35));
  const ground = high - 0.2 * unit, left = width / 2 + x * unit, top = ground - HIGH * unit;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, high);
  line(pen, colour("--line"), 2, width / 2 - TRACK * unit, ground, width / 2 + TRACK * unit, ground);
  for (const end of [-TRACK, TRACK]) line(pen, colour("--line"), 2, width / 2 + end * unit, ground - 6, width / 2 + end * unit, ground + 6);
  pen.fillStyle = colour("--soft");
  pen.beginPath();
  pen.roundRect(left - (WIDE / 2) * unit, top, WIDE * unit, HIGH * unit, 4);
  pen.fill();
  pen.lineCap = "round";
  const tip = [left + Math.sin(angle) * POLE * unit, top - Math.cos(angle) * POLE * unit];
  line(pen, colour(Math.abs(angle) > MOST ? "--wrong" : "--flame"), 0.08 * unit, left, top, tip[0], tip[1]);
  pen.fillStyle = colour("--ink");
  pen.beginPath();
  pen.arc(left, top, 0.05 * unit, 0, 7);
  pen.fill();
}

function line(pen, colour, wide, x, y, toX, toY) {
  pen.strokeStyle = colour;
  pen.lineWidth = wide;
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(toX, toY);
  pen.stroke();
}
