// @ts-check
/** Turns folder.html, as index.html of a folder that train.js offers, into a page that reads digits by its network. */
import { load } from "./index.js";
import { Pad } from "./pad.js";
import { image } from "./preprocess.js";

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
/** @type {Awaited<ReturnType<typeof load>> | null} */
let model = null;
/** @type {Float32Array | null} */
let pixels = null;
let busy = false, again = false;

/** Read what is drawn; of what changes meanwhile, only the newest. */
async function read() {
  if (!model || busy) return void (again = true);
  busy = true;
  do {
    again = false;
    show(pixels && (await model.run({ pixels: { data: pixels, shape: [1, 784] } })).data);
  } while (again);
  busy = false;
}

/** @param {Float32Array | null} found */
function show(found) {
  const best = found?.indexOf(Math.max(...found));
  byId("prediction").textContent = best ?? "–";
  if (found) byId("hint").textContent = `${(100 * found[best]).toFixed(1)} % sure, on ${model.adapter}`;
}

const pad = new Pad(byId("digit"), (strokes) => {
  pixels = image(strokes);
  read();
});
byId("clear").addEventListener("click", () => pad.clear());
try {
  model = await load();
  byId("hint").textContent = `Draw a digit: ${model.adapter} reads it.`;
  read();
} catch (error) {
  byId("hint").textContent = error.message;
}
