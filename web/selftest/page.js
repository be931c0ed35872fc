// @ts-check
/** Turns index.html into the self-test: `?seed=71&minutes=5&family=views&family=products` fills in its form. */
import { start } from "../client.js";
import { fetched, manifestOf, text } from "../fetched.js";
import { notice } from "../notice.js";
import { keep } from "../offline.js";
import * as state from "../state.js";
import { Watch } from "../watch.js";

const BASE = new URL("../", import.meta.url).href;
const MOST = 10; // differences after which a run ends
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const asked = new URLSearchParams(location.search);
let python = null, running = false, stopping = false;

/** The families as boxes to tick, and the form as the address says. */
function filled(families) {
  for (const name of families) {
    const label = document.createElement("label"), box = document.createElement("input");
    Object.assign(box, { type: "checkbox", value: name, name: "family", checked: asked.getAll("family").includes(name) });
    label.append(box, name);
    byId("families").append(label);
  }
  byId("choice").open = asked.has("family");
  for (const name of asked.getAll("family"))
    if (!families.includes(name)) notice(`family=${name} in the address: unknown: use ${families.join(", ")}.`);
  for (const name of ["minutes", "seed"]) {
    const field = byId(name), before = field.value;
    if (!asked.has(name)) continue;
    field.value = asked.get(name);
    if (field.value && field.checkValidity()) continue;
    notice(`${name}=${asked.get(name)} in the address: not a number from ${field.min} to ${field.max}.`);
    field.value = before;
  }
}

/** Run cases until the time is over, too much is wrong or the visitor stops it. */
async function run() {
  const seed = byId("seed").value ? Number(byId("seed").value) : Math.floor(Math.random() * 2 ** 31);
  const minutes = Number(byId("minutes").value);
  const chosen = /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll("#families :checked")]);
  const families = chosen.map(({ value }) => value);
  const address = new URLSearchParams({ seed: String(seed), minutes: String(minutes) });
  for (const name of families) address.append("family", name);
  history.replaceState(null, "", `?${address}`); // a reload runs the same cases
  byId("seed").value = seed;
  entered(true);
  byId("told").textContent = `Running the cases of seed ${seed}.`;
  const begin = performance.now(), whole = 60_000 * minutes;
  let seen = { rows: [], found: [], lost: "" }, cases = 0;
  try {
    await python.call("page.begin", seed, families);
    while (!stopping && seen.found.length < MOST && !seen.lost && (!cases || performance.now() - begin < whole)) {
      const next = await python.call("page.step");
      cases += 1;
      seen = next.lost ? { ...seen, lost: next.lost } : next; // what came of a GPU that is gone says nothing
      shown(seen, seed, (performance.now() - begin) / whole);
    }
    byId("told").textContent = `${told(seen, seed)} ${stopping ? "Stopped: this is what was tried so far." : "Done."}`;
    if (seen.lost) state.failed(new Error(`The GPU was lost (${seen.lost}): try again`));
  } finally {
    entered(false);
  }
}

function entered(now) {
  running = now;
  stopping = false;
  byId("run").disabled = now;
  byId("stop").disabled = byId("done").hidden = !now;
  for (const field of byId("asked").querySelectorAll("input")) field.disabled = now;
  if (now) byId("wrong").hidden = true;
}

function told({ rows, found }, seed) {
  const tried = rows.reduce((sum, row) => sum + row[1], 0);
  return `${tried} cases, ${found.length || "none"} wrong, on ${python.adapter}, seed ${seed}.`;
}

function shown({ rows, found }, seed, part) {
  byId("done").value = part;
  byId("rows").replaceChildren(...rows.map(([name, tried, differ, worst, variants]) =>
    row([name, tried, differ, worst ? worst.toFixed(2) : "–", variants || "–"], differ ? "differs" : "")));
  const sum = (i) => rows.reduce((all, one) => all + one[i], 0);
  byId("rows").append(row(["all", sum(1), found.length, "", ""], "all"));
  if (byId("differences").childElementCount !== found.length || byId("wrong").hidden !== !found.length) {
    byId("differences").replaceChildren(...found.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
    byId("wrong").hidden = !found.length;
    byId("told").textContent = told({ rows, found }, seed); // said at once when something differs, else at the end
  }
}

function row(cells, kind) {
  const line = document.createElement("tr");
  line.className = kind;
  cells.forEach((cell, i) => {
    const made = document.createElement(i ? "td" : "th");
    if (!i) made.scope = "row";
    made.textContent = cell;
    line.append(made);
  });
  return line;
}

async function save() {
  const data = `browser   ${navigator.userAgent}\n${await python.call("page.file")}`, link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type: "text/plain" }));
  link.download = `flambeau-selftest-${byId("seed").value}.txt`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** What went wrong on the way stands in the status; nothing more can be run. */
function failed(error) {
  state.failed(error);
  for (const id of ["run", "stop"]) byId(id).disabled = true;
}

async function begin(watch) {
  state.begun();
  byId("asked").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!running) run().catch(failed);
  });
  byId("stop").addEventListener("click", () => {
    stopping = true;
    byId("stop").disabled = true;
    byId("told").textContent = "Stopping after this case.";
  });
  byId("save").addEventListener("click", () => save().catch((error) => notice(`The file cannot be made: ${error.message}`)));
  const source = text(new URL("page.py", import.meta.url));
  source.catch(() => {}); // told below
  python = await start({
    base: BASE, onprogress: state.bytes("loading Python"), onstatus: state.told, onwarning: notice, onbroken: failed, watch,
  });
  globalThis.flambeau = python; // for the console: await flambeau.run("import flambeau as fb; ...")
  watch.moved("loading the self-test");
  state.told("loading the self-test");
  const manifest = await manifestOf(BASE);
  await python.unpack(await fetched(BASE, manifest.selftest, manifest));
  await python.install("page.py", await source);
  filled(await python.run("import page\npage.FAMILIES"));
  keep(BASE, [new URL(manifest.selftest, BASE).href]);
  state.ready(`ready on ${python.adapter}`);
  byId("run").disabled = false;
}

const watch = new Watch(state.stalled);
begin(watch).catch(failed).finally(() => watch.end());
