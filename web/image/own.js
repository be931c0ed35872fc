// @ts-check
/** Turns a network that was dropped into the page's: shows what it is, what it gives, or all that keeps it from running. */
import { Watch } from "../watch.js";
import * as state from "../state.js";
import { opened, release } from "./network.js";
import { notice } from "./page.js";

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const HINT = byId("hint").textContent;
/** @typedef {import("./page.js").Page} Page */
/** @type {Page | null} */
let page = null;
let seed = 0;

function made(kind, text = "") {
  return Object.assign(document.createElement(kind), { textContent: text });
}

/**
 * Take the network among the files in the place of the page's; what it can't run is listed.
 * @param {Page} asking
 * @param {File[]} files
 * @param {number} mine
 */
export async function take(asking, files, mine) {
  release();
  page = asking;
  begun(files.find(({ name }) => /\.onnx$/i.test(name)).name);
  const watch = new Watch(state.stalled);
  try {
    const found = await opened(files, watch);
    if (mine !== page.asked) return;
    described(found.told);
    if (found.told.problems.length) return;
    page.named = found;
    await again();
  } catch (error) {
    if (mine !== page.asked) return;
    leave(page);
    notice(error.message);
  } finally {
    watch.end();
    if (mine === page.asked) ended();
  }
}

/** Run it on the picture that is shown, or on random inputs; twice, since the first time its kernels are compiled. */
async function again() {
  const mine = page.asked;
  state.busy("running the network");
  try {
    seed++;
    for (let i = 0; i < 2 && mine === page.asked; i++) await (page.named.takesPictures ? onPicture(mine) : onNumbers(mine));
  } catch (error) {
    if (mine === page.asked) problems([error.message]);
  } finally {
    if (mine === page.asked) ended();
  }
}

/** @param {number} mine */
async function onPicture(mine) {
  if (page.last && !page.stream) await page.say(page.last, mine);
}

/** @param {number} mine */
async function onNumbers(mine) {
  const begun = performance.now(), { outputs: found } = await page.named.draw(seed);
  if (mine !== page.asked) return;
  byId("speed").textContent = (performance.now() - begun).toFixed(1);
  outputs(found);
  byId("spoken").textContent = "The network has answered";
}

function begun(name) {
  byId("own").hidden = false;
  byId("about").hidden = true;
  byId("own-name").textContent = name;
  byId("own-told").textContent = "";
  for (const id of ["own-scale", "draw"]) byId(id).hidden = true;
  byId("back").textContent = "Stop";
  problems([]);
  outputs([]);
  byId("top5").replaceChildren();
  for (const id of ["spoken", "speed"]) byId(id).textContent = "";
  state.busy(`reading ${name}`);
}

function ended() {
  byId("back").textContent = "Back to EfficientNet-Lite0";
  state.ready(`ready on ${page.program.adapter}`);
}

/** @param {import("./network.js").Told} told */
function described({ problems: found, nodes, weights, inputs, outputs, picture, scale }) {
  problems(found);
  if (found.length) return;
  const of = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
  const list = (values) => values.map(([name, text]) => `${name}: ${text}`).join(", ") || "nothing";
  const what = picture ? `It is shown pictures, ${picture}.` : "It takes no picture: it runs on random numbers.";
  byId("own-told").textContent = `${of(nodes, "node")}, ${of(weights, "weight")}. `
    + `Takes ${list(inputs)}; gives ${list(outputs)}. ${what}`;
  byId("own-scale").hidden = !scale;
  if (scale) byId("scale").value = scale;
  byId("draw").hidden = Boolean(picture);
  byId("hint").textContent = picture ? HINT : "This network takes no picture.";
  byId("per").textContent = picture ? "frame" : "run";
}

/**
 * What keeps it from running, a line each.
 * @param {string[]} lines
 */
function problems(lines) {
  byId("own-wrong").hidden = !lines.length;
  byId("own-wrong").firstElementChild.textContent =
    lines.length === 1 ? "It cannot be run here:" : `It cannot be run here, for ${lines.length} reasons:`;
  byId("own-problems").replaceChildren(...lines.map((line) => made("li", line)));
}

/**
 * The outputs: name, what each is, its first numbers, its range.
 * @param {import("./network.js").Row[]} rows
 */
export function outputs(rows) {
  byId("own-outputs").hidden = !rows.length;
  byId("own-outputs").replaceChildren(...rows.flatMap(({ name, what, numbers, range }) => {
    const head = made("dt"), body = made("dd", numbers);
    head.append(made("b", name), made("span", what));
    if (range) body.append(document.createElement("br"), made("span", `from ${range}`));
    return [head, body];
  }));
}

/**
 * Give the page its own network back.
 * @param {Page} asking
 */
export function leave(asking) {
  release();
  asking.named = asking.program;
  byId("own").hidden = true;
  byId("about").hidden = false;
  problems([]);
  outputs([]);
  byId("top5").replaceChildren();
  byId("hint").textContent = HINT;
  byId("per").textContent = "frame";
  state.ready(`ready on ${asking.program.adapter}`);
}

byId("back").addEventListener("click", () => {
  page.asked++;
  leave(page);
  if (page.last && !page.stream) page.say(page.last, page.asked).catch((error) => notice(error.message));
});
byId("draw").addEventListener("click", again);
byId("scale").addEventListener("change", async ({ target }) => {
  await page.named.scaled?.(target.value);
  await again();
});
