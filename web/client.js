// @ts-check
/**
 * Turns worker.js into promises for a page: `const python = await start()`, then
 *   python.adapter, python.software              the GPU's name, and whether it is a software one
 *   python.loaded                                the addresses of what was loaded for it
 *   await python.call("module.function", ...args)
 *   await python.run("source")                   the value of its last expression
 *   await python.install("name.py", source)      a module of the page's own, or any file; bytes are handed over
 *   await python.unpack(data)                    a zip archive of modules
 *   python.on("event", (value) => ...)           what Python sends by `flambeau_page.emit("event", value)`
 *   python.stop()
 * A page opened as a file cannot load modules, this one neither: it says so in a plain script, as index.html does.
 * Errors are those of Python: `name` is the exception's type, `message` its last line, `trace` the traceback.
 */

import { check } from "./check.js";
import { Fault, policyOn } from "./faults.js";
import { runnable } from "./fetched.js";
import { control, keep } from "./offline.js";
import { script } from "./trusted.js";

const here = new URL("./", import.meta.url).href;

const WORKER = ["worker.js", "executor.js", "fetched.js", "faults.js"]; // what the worker imports

/**
 * @typedef {object} Tells who is told on the way; `watch` (watch.js) sees all that moves
 * @property {string} [base] the site
 * @property {(bytes: {loaded: number, total: number}) => void} [onprogress] bytes that came
 * @property {(text: string) => void} [onstatus] a line of what is done
 * @property {(text: string) => void} [onwarning] what makes the page slow
 * @property {(kernels: {compiled: number, all: number}) => void} [oncompile]
 * @property {(error: Error) => void} [onbroken] at any time, why Python answers no more
 * @property {{moved(what?: string): void}} [watch]
 */

/**
 * Start a worker, wait until Python and the GPU are ready, and return what calls it.
 * @param {Tells} [tells]
 */
export async function start({ base = here, onprogress, onstatus, onwarning, oncompile, onbroken, watch = IDLE } = {}) {
  watch.moved("looking at the browser");
  const { obstacle, warning } = await check();
  if (obstacle) throw new Error(obstacle);
  if (warning) onwarning?.(warning);
  const alone = await control(base);
  if (alone) onwarning?.(`The browser keeps no copy of this site (${alone}): it works, but not offline.`);
  const python = new Python(new Worker(script(new URL("worker.js", base)), { type: "module" }), base);
  const tells = { progress: onprogress, status: onstatus, pipelines: oncompile };
  for (const [event, tell] of Object.entries(tells))
    python.on(event, (value) => {
      watch.moved(event === "status" ? value : undefined);
      tell?.(value);
    });
  python.on("broken", (why) => python.fail(new Fault("stopped", { why })));
  watch.moved("starting the worker");
  try {
    Object.assign(python, await python.ask({ type: "start", base }));
  } catch (error) {
    python.stop(); // or the worker would keep reporting what it still loads
    throw error;
  }
  python.started = true;
  python.onbroken = onbroken;
  keep(base, python.loaded);
  return python;
}

/** @type {{moved(what?: string): void}} */
const IDLE = { moved() {} };

export class Python {
  constructor(worker, base) {
    this.worker = worker;
    this.waiting = new Map();
    this.listeners = new Map();
    this.last = 0;
    this.adapter = "";
    this.software = false;
    /** @type {string[]} */
    this.loaded = [];
    this.broken = this.onbroken = null; // why the worker stopped answering, and the listeners
    this.started = false;
    worker.onmessage = ({ data }) => this.take(data);
    worker.onerror = async (event) => {
      event.preventDefault();
      const why = event.message || "it said nothing";
      this.fail(this.started ? new Fault("stopped", { why }) : await obstacleOf(base, why));
    };
  }

  take(data) {
    if (data.event) return void this.listeners.get(data.event)?.(data.value);
    if (!this.waiting.has(data.id)) return; // given up
    const { resolve, reject } = this.waiting.get(data.id);
    this.waiting.delete(data.id);
    if (data.error) reject(Object.assign(new Error(data.error.message), data.error));
    else resolve(data.value);
  }

  fail(error) {
    this.broken = error;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
    this.onbroken?.(error);
  }

  ask(message, transfer = []) {
    if (this.broken) return Promise.reject(this.broken);
    return new Promise((resolve, reject) => {
      const id = ++this.last;
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ ...message, id }, transfer);
    });
  }

  call(name, ...args) { return this.ask({ type: "call", name, args }); }
  run(source) { return this.ask({ type: "run", source }); }
  install(path, source) { return this.ask({ type: "install", path, source }, source.buffer ? [source.buffer] : []); }
  unpack(data) { return this.ask({ type: "unpack", data }, [data]); }
  on(event, listener) { this.listeners.set(event, listener); }
  stop() {
    this.worker.terminate();
    this.listeners.clear();
    this.onbroken = null;
    this.fail(new Error("The worker was stopped."));
  }
}

/** Why a worker could not start. */
async function obstacleOf(base, why) {
  const scripts = WORKER.map((name) => new URL(name, base)), [first] = scripts;
  const policy = await policyOn(first.href);
  if (policy) return new Fault("policy", { name: first.pathname, policy });
  for (const url of scripts) {
    const found = await runnable(url).catch((error) => error);
    if (found) return found;
  }
  return new Fault("worker", { why });
}
