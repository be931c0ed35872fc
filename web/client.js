/**
 * Turns worker.js into promises for a page: `const python = await start()`, then
 *   python.adapter, python.software              the GPU's name, and whether it is a software one
 *   python.loaded                                the addresses of what was loaded for it
 *   await python.call("module.function", ...args)
 *   await python.run("source")                   the value of its last expression
 *   await python.install("name.py", source)      a module of the page's own
 *   python.on("event", (value) => ...)           what Python sends by `flambeau_page.emit("event", value)`
 *   python.stop()
 * A page opened as a file cannot load modules, this one neither: it says so in a plain script, as index.html does.
 * Errors are those of Python: `name` is the exception's type, `message` its last line, `trace` the traceback.
 */

import { check } from "./check.js";
import { control, keep } from "./offline.js";

const here = new URL("./", import.meta.url).href;

/**
 * Start a worker, wait until Python and the GPU are ready, and return what calls it. Told on the way: bytes that
 * came ({loaded, total}), a line of what is done, what makes the page slow, kernels that compile ({compiled, all}).
 */
export async function start({ base = here, onprogress, onstatus, onwarning, oncompile } = {}) {
  const { obstacle, warning } = await check();
  if (obstacle) throw new Error(obstacle);
  if (warning) onwarning?.(warning);
  const alone = await control(base);
  if (alone) onwarning?.(`The browser keeps no copy of this site (${alone}): it works, but not offline.`);
  const python = new Python(new Worker(new URL("worker.js", base), { type: "module" }));
  python.on("progress", (value) => onprogress?.(value));
  python.on("status", (value) => onstatus?.(value));
  python.on("pipelines", (value) => oncompile?.(value));
  try {
    Object.assign(python, await python.ask({ type: "start", base }));
  } catch (error) {
    python.stop(); // or what it still loads would go on being told
    throw error;
  }
  keep(base, python.loaded);
  return python;
}

class Python {
  constructor(worker) {
    this.worker = worker;
    this.waiting = new Map();
    this.listeners = new Map();
    this.last = 0;
    this.broken = null; // why the worker answers no more
    worker.onmessage = ({ data }) => this.take(data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.fail(new Error(`The worker could not start: ${event.message || "the browser blocks it, or worker.js cannot be had"}.`));
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
  install(path, source) { return this.ask({ type: "install", path, source }); }
  on(event, listener) { this.listeners.set(event, listener); }
  stop() {
    this.worker.terminate();
    this.listeners.clear();
    this.fail(new Error("The worker was stopped."));
  }
}
