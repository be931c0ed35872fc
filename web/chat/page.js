// @ts-check
/** The page of a conversation: what the model needs, its download, messages and replies, and what they cost. */
import { check } from "../check.js";
import { open } from "../executor.js";
import { load } from "../program.js";
import * as state from "../state.js";
import { Files } from "./download.js";
import { Tokenizer } from "./tokenizer.js";
import { Writer, speedOf } from "./writer.js";

const FORMAT = "flambeau-chat", VERSION = 1;
const FACTS = "chat.json", HERE = new URL("./", import.meta.url);
const ENDS = { length: "the reply reached the most tokens", cancel: "stopped", stop: "" };

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e8 ? 1 : 0)} MB`;

class Page {
  constructor(executor, warning) {
    this.executor = executor;
    this.warning = warning;
    /** @type {Writer | null} */
    this.writer = null;
    this.facts = null;
    /** @type {Files | null} */
    this.files = null;
    /** @type {{role: string, content: string}[]} */
    this.messages = [];
    this.ready = ""; // the line of a page that waits for a message
    byId("begin").addEventListener("click", () => this.begin().catch(state.failed));
    byId("forget").addEventListener("click", () => this.forget());
    byId("folder").addEventListener("change", () => this.choose([...byId("folder").files]).catch(state.failed));
    byId("compose").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    byId("message").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.send();
    });
    byId("stop").addEventListener("click", () => this.writer?.stop());
    byId("reset").addEventListener("click", () => this.reset());
  }

  /** Show what a model needs. */
  async offer(facts, files) {
    this.facts = facts;
    this.files = files;
    const { all, kept } = await files.sizes(), { memory } = facts, needed = memory.weights + memory.cache + memory.working;
    byId("name").textContent = facts.title;
    document.title = facts.title;
    byId("about").textContent = facts.about;
    const rest = all - kept;
    byId("download").textContent = files.chosen ? `none: ${megabytes(all)} are read from the folder`
      : kept ? `${megabytes(rest)} of ${megabytes(all)}; the rest is kept in this browser` : megabytes(all);
    byId("memory").textContent = `${megabytes(needed)}: ${megabytes(memory.weights)} of weights, ${megabytes(memory.cache)} for`
      + ` ${facts.context} tokens, ${megabytes(memory.working)} for computing; and ${megabytes(memory.weights)} in the page while it loads`;
    byId("adapter").textContent = this.executor.name;
    byId("forget").hidden = !kept || Boolean(files.chosen);
    const obstacles = [await this.lacks(facts, rest)].flat().filter(Boolean);
    byId("obstacle").textContent = obstacles.join(" ");
    byId("obstacle").hidden = !obstacles.length;
    byId("offer").hidden = false;
    byId("begin").setAttribute("aria-disabled", String(memory.largest > this.executor.maxBinding));
    state.ready(this.warning || "ready to load the model");
  }

  /** What this browser lacks for a model. */
  async lacks({ memory }, rest) {
    const most = this.executor.maxBinding, told = [];
    if (memory.largest > most)
      told.push(`The model has a tensor of ${megabytes(memory.largest)}, and ${this.executor.name} takes ${megabytes(most)} at most:`
        + " it cannot run here. Use a smaller model or another device.");
    if (!this.files?.chosen) {
      /** @type {StorageEstimate} */
      const { quota = 0, usage = 0 } = (await navigator.storage?.estimate?.().catch(() => null)) ?? {};
      if (!globalThis.caches) told.push("This browser keeps no downloads here: the model is downloaded at each visit.");
      else if (quota && quota - usage < rest) told.push(`This browser keeps ${megabytes(quota - usage)} more: the download is not kept whole.`);
    }
    return told;
  }

  async choose(chosen) {
    const cut = (file) => (file.webkitRelativePath || file.name).split("/").slice(file.webkitRelativePath ? 1 : 0).join("/");
    const files = new Map(chosen.map((file) => [cut(file), file])), facts = files.get(FACTS);
    if (!facts) {
      const gguf = chosen.find(({ name }) => name.endsWith(".gguf"));
      const what = gguf ? `${gguf.name} is a GGUF file` : "This folder has no chat.json";
      byId("obstacle").textContent = `${what}: export it first: flambeau export ${gguf?.name ?? "model.gguf"} --chat --out folder. Then choose the folder.`;
      byId("obstacle").hidden = false;
      return;
    }
    const described = readFacts(await facts.text());
    await this.offer(described, new Files(HERE, described.files, files));
  }

  async forget() {
    await this.files?.forget();
    await this.offer(this.facts, this.files).catch(state.failed);
  }

  /** Download the model, and start the conversation. */
  async begin() {
    if (byId("begin").getAttribute("aria-disabled") === "true") return;
    byId("begin").setAttribute("aria-disabled", "true");
    byId("chooser").hidden = true;
    const { facts, files, executor } = this;
    state.busy("loading the model");
    const names = Object.keys(facts.files), parts = {}, places = {}, weights = new Uint8Array(files.sum(facts.weights));
    facts.weights.reduce((at, name) => ((places[name] = at), at + files.list[name].bytes), 0);
    const onbytes = (loaded, total) => state.bytes("loading the model")({ loaded, total });
    const controller = new AbortController();
    try {
      await files.fetch(names, controller.signal, onbytes, (name, data) => {
        if (name in places) weights.set(data, places[name]);
        else parts[name] = data;
      });
    } catch (error) {
      controller.abort();
      throw error;
    }
    const program = { "program.txt": parts["model/program.txt"], "kernels.wgsl": parts["model/kernels.wgsl"], "weights.safetensors": weights };
    const onprogress = (ready, all) => state.told(`compiling kernels: ${ready} of ${all}`, all ? ready / all : 0);
    const model = await load(program, { executor, onprogress });
    const draw = () => load({
      "program.txt": parts["model/draw/program.txt"], "kernels.wgsl": parts["model/draw/kernels.wgsl"],
      "weights.safetensors": parts["model/draw/weights.safetensors"],
    }, { executor }).then((program) => {
      program.seed(crypto.getRandomValues(new Uint32Array(1))[0]);
      return program;
    });
    await model.prepare(model.batches[0]);
    const tokenizer = new Tokenizer(JSON.parse(new TextDecoder().decode(parts["model/tokenizer.json"])));
    this.writer = new Writer({ model, draw, tokenizer, facts });
    Object.assign(globalThis, { flambeau: this }); // for the console
    byId("offer").hidden = true;
    byId("chat").hidden = false;
    this.reset();
    const kept = files.chosen || files.keeps ? "" : "; this browser had no room to keep the download";
    this.ready = `ready on ${executor.name}${this.warning && ", a software adapter: slow"}${kept}`;
    state.ready(this.ready);
    byId("message").focus();
  }

  reset() {
    if (this.writer?.busy) return;
    const { system } = this.facts;
    this.messages = system ? [{ role: "system", content: system }] : [];
    byId("log").replaceChildren();
    byId("cost").textContent = "";
  }

  /** Show a message; its text element. */
  say(role, text) {
    const entry = document.createElement("article"), name = document.createElement("h3"), body = document.createElement("p");
    entry.className = role;
    name.textContent = role === "user" ? "You" : this.facts.title;
    body.textContent = text;
    entry.append(name, body);
    byId("log").append(entry);
    return body;
  }

  busy(is) {
    byId("send").setAttribute("aria-disabled", String(is));
    byId("reset").setAttribute("aria-disabled", String(is));
    byId("stop").hidden = !is;
  }

  async send() {
    const text = byId("message").value.trim(), { writer } = this;
    if (!text || !writer || writer.busy) return;
    byId("message").value = "";
    byId("wrong").hidden = true;
    this.say("user", text);
    const messages = [...this.messages, { role: "user", content: text }], shown = this.say("assistant", "");
    this.busy(true);
    byId("spoken").textContent = "the model is writing";
    try {
      const temperature = Number(byId("temperature").value) || 0;
      for await (const part of writer.reply(messages, { temperature, top_p: 0.95, most: Number(byId("most").value) || undefined })) {
        if (part) shown.append(part);
        this.measure();
        if (atEnd()) byId("compose").scrollIntoView({ block: "end" });
      }
      byId("spoken").textContent = `The reply: ${shown.textContent}`;
    } catch (error) {
      byId("wrong").textContent = error.message;
      byId("wrong").hidden = false;
      byId("spoken").textContent = "";
    } finally {
      // what was written stays in the history, a reply that was stopped too
      this.messages = shown.textContent ? [...messages, { role: "assistant", content: shown.textContent }] : this.messages;
      if (!shown.textContent) {
        shown.parentElement.remove();
        byId("message").value ||= text;
      }
      this.busy(false);
      state.ready(this.ready); // and no longer that kernels compile
      this.measure(true);
    }
  }

  /** Show the speed, and how much of the context is used. */
  measure(isOver = false) {
    const { last } = /** @type {Writer} */ (this.writer), { context } = this.facts, speed = speedOf(last);
    const parts = [`${last.prompt + last.ids.length} of ${context} tokens`];
    if (speed) parts.unshift(`${speed.toFixed(1)} tokens a second`);
    if (last.first) parts.push(`the first after ${last.first.toFixed(1)} s`);
    if (last.dropped) parts.push(`without the ${last.dropped} oldest messages, which no longer fit`);
    if (isOver && ENDS[last.finish]) parts.push(ENDS[last.finish]);
    byId("cost").textContent = `${parts.join(", ")}.`;
  }
}

const atEnd = () => innerHeight + scrollY > document.documentElement.scrollHeight - 160;

function readFacts(text) {
  let facts;
  try {
    facts = JSON.parse(text);
  } catch {} // told below
  if (facts?.format !== FORMAT) throw new Error(`${FACTS} is damaged or of something else: export the model again.`);
  if (facts.version !== VERSION) throw new Error(`${FACTS} has version ${facts.version}, and this page reads ${VERSION}: export the model again.`);
  return facts;
}

async function begin() {
  state.begun();
  const { obstacle, warning } = await check();
  if (obstacle) throw new Error(obstacle);
  const page = new Page(await open(), warning);
  const response = await fetch(new URL(FACTS, HERE), { cache: "no-cache" });
  if (!response.ok) throw new Error(`${FACTS} cannot be had (${response.status}): put the whole folder on the server.`);
  const text = await response.text(), facts = JSON.parse(text || "null");
  byId("chooser").hidden = !facts?.chooser;
  if (facts?.chooser && !facts.format) {
    byId("adapter-alone").textContent = page.executor.name;
    return state.ready(warning || "choose a model");
  }
  await page.offer(readFacts(text), new Files(HERE, readFacts(text).files));
}

begin().catch(state.failed);
