// @ts-check
/** Turns a picture into what the program takes: the middle of it on a canvas, as bytes, and how large it is there. */

export const CANVAS = 448; // pixels a side, as in src/flambeau/models/imagenet.py
const CROP = 0.875; // of the shorter side

/** @typedef {{source: CanvasImageSource, wide: number, high: number}} Picture what is drawn from, and its size in pixels */

/**
 * A picture of a file's or a canvas's content. Throws a sentence for what is none.
 * @param {ImageBitmapSource} given
 * @param {string} name
 * @returns {Promise<Picture>}
 */
export async function opened(given, name) {
  try {
    const source = await createImageBitmap(given, { imageOrientation: "from-image" });
    return { source, wide: source.width, high: source.height };
  } catch {
    throw new Error(`${name} is no picture that this browser reads, or too large for it: give a JPEG, PNG or WebP.`);
  }
}

/**
 * Draw the middle of a picture: {canvas, side}, the program's inputs. What is larger than the canvas is resized by it.
 * @param {CanvasRenderingContext2D} context
 * @param {Picture} picture
 */
export function drawn(context, { source, wide, high }) {
  const whole = Math.max(1, Math.round(CROP * Math.min(wide, high))), side = Math.min(whole, CANVAS);
  const [left, top] = [wide, high].map((size) => Math.floor((size - whole) / 2));
  context.clearRect(0, 0, CANVAS, CANVAS);
  context.fillStyle = "#fff"; // behind what is transparent, as in imagenet.py
  context.fillRect(0, 0, side, side);
  context.imageSmoothingQuality = "high";
  context.drawImage(source, left, top, whole, whole, 0, 0, side, side);
  const { data } = context.getImageData(0, 0, CANVAS, CANVAS);
  return {
    canvas: { data: new Uint8Array(data.buffer), shape: [CANVAS, CANVAS, 4] },
    side: Float32Array.of(side),
  };
}

/**
 * Show the same part of a picture on a canvas that is seen, as large as that is.
 * @param {CanvasRenderingContext2D} context
 * @param {Picture} picture
 */
export function shown(context, { source, wide, high }) {
  const whole = CROP * Math.min(wide, high), { width, height } = context.canvas;
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, height);
  context.drawImage(source, (wide - whole) / 2, (high - whole) / 2, whole, whole, 0, 0, width, height);
}
