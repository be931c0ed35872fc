// @ts-check
/** Turns demo.json and the program in model/ into the page: an element for each input and output, and a run for each change. */
import { check } from "../check.js";
import { load } from "../program.js";
import * as state from "../state.js";
import { inputOf } from "./inputs.js";
import { outputOf } from "./outputs.js";

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);

/** @typedef {import("./inputs.js").Input} Input */
/** @typedef {import("./outputs.js").Output} Output */

class Demo {
  /**
   * @param {any} facts what demo.json holds
   * @param {Awaited<ReturnType<typeof load>>} model
   */
  constructor(facts, model) {
    this.model = model;
    this.result = facts.outputs;
    this.busy = this.again = false;
    /** @type {"typed" | "array"} typed arrays have 16-bit floats as bits */
    this.output = facts.outputs.some(({ dtype }) => /^b?f16$/.test(dtype)) ? "array" : "typed";
    const changed = () => this.run();
    /** @type {Input[]} */
    this.inputs = facts.inputs.map((input) => inputOf(input, changed));
    const tokens = this.inputs.find(({ count }) => count); // masks and positions follow what is typed
    for (const input of this.inputs) input.follows?.(tokens);
    /** @type {Output[]} */
    this.outputs = facts.outputs.map((output) => outputOf(output, tokens, facts.outputs.length > 1));
    byId("inputs").append(...this.inputs.flatMap(({ element }) => element ?? []));
    byId("outputs").append(...this.outputs.map(({ element }) => element));
    byId("inputs").addEventListener("submit", (event) => event.preventDefault());
    byId("adapter").textContent = model.adapter;
    this.offer(facts.examples);
  }

  /** Buttons that fill the first input that takes an example. */
  offer(examples) {
    const input = this.inputs.find(({ example }) => example);
    if (!examples.length || !input) return;
    const row = document.createElement("div");
    row.className = "row examples";
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", "Examples");
    row.append(...examples.map((example) => {
      const button = Object.assign(document.createElement("button"), { type: "button" });
      if (example.file) button.append(Object.assign(new Image(72, 72), { src: example.file, alt: example.text }));
      else button.textContent = example.text.length > 40 ? `${example.text.slice(0, 40)}…` : example.text;
      button.addEventListener("click", () => input.example(example).catch((error) => this.failed(error)));
      return button;
    }));
    byId("inputs").append(row);
  }

  /** Run the model on what is entered; of changes that come meanwhile, only the newest. */
  async run() {
    if (this.busy) return void (this.again = true);
    this.busy = true;
    try {
      do {
        this.again = false;
        await this.once();
      } while (this.again);
    } catch (error) {
      this.failed(error);
    } finally {
      this.busy = false;
    }
  }

  async once() {
    const values = {};
    for (const input of this.inputs) {
      const value = input.value();
      if (!value) return; // nothing is entered yet
      values[input.name] = value;
    }
    const begun = performance.now(), results = await this.model.run(values, { output: this.output });
    byId("speed").textContent = `${(performance.now() - begun).toFixed(1)} ms`;
    byId("wrong").hidden = true;
    const all = resultsOf(results, this.result);
    byId("spoken").textContent = this.outputs.map((output, i) => output.show(all[i])).join(". ");
  }

  failed({ message }) {
    byId("wrong").textContent = message;
    byId("wrong").hidden = false;
  }
}

/** The results in the order of the outputs, each as {data: a flat list of numbers, shape}. */
function resultsOf(results, outputs) {
  const named = outputs.length === 1 && results.shape ? [results] : outputs.map(({ name }, i) => results[name] ?? results[i]);
  const flat = (data) => (ArrayBuffer.isView(data) ? data : [data].flat(Infinity));
  return named.map(({ data, shape }) => ({ data: Array.from(/** @type {any} */ (flat(data)), Number), shape }));
}

async function begin() {
  state.begun();
  const { obstacle, warning } = await check();
  if (obstacle) throw new Error(obstacle);
  const response = await fetch(new URL("demo.json", import.meta.url));
  if (!response.ok) throw new Error(`demo.json cannot be had (${response.status}): put the whole folder on the server.`);
  const model = await load(undefined, {
    ondownload: (loaded, total) => state.bytes("loading the model")({ loaded, total }),
    onprogress: (ready, all) => state.told(`compiling kernels: ${ready} of ${all}`, ready / all),
  });
  await model.prepare();
  const demo = new Demo(await response.json(), model);
  Object.assign(globalThis, { flambeau: model }); // for the console
  state.ready(`ready on ${model.adapter}${warning && ", a software adapter: slow"}`);
  await demo.run();
}

begin().catch(state.failed);
