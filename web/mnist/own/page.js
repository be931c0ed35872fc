/** Turns folder.html, as index.html of a folder that train.js offers, into a page that reads digits by its network. */
import { load } from "./index.js";
import { Pad } from "./pad.js";
import { image } from "./preprocess.js";

const byId = (id) => document.getElementById(id);
let model = null, pixels = null;

async function read() {
  if (!model || !pixels) return void (byId("prediction").textContent = "–");
  const { data } = await model.run({ pixels: { data: pixels, shape: [1, 784] } }), best = data.indexOf(Math.max(...data));
  byId("prediction").textContent = best;
  byId("hint").textContent = `${(100 * data[best]).toFixed(1)} % sure, on ${model.adapter}`;
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
