// @ts-check
/**
 * Runs programs in Python's worker for a page: `const runner = new Runner(base, tells)`, then
 *   await runner.load()                          Python and the GPU, loaded once; `run` does it, too
 *   await runner.run(program, onpiece)           what ended it: {ms, kernels, error, trace, line}
 *   runner.stop()                                end what runs: the worker with its names is gone, and another starts
 *   await runner.inspect(program)                an inspection of one more run, packed for the inspector's page
 * A program is {source, name, space, fresh}: as in runner.py, which sends the pieces of its output.
 */
import { start } from "./client.js";
import { fetched, manifestOf, text } from "./fetched.js";
import { keep } from "./offline.js";
import { Watch } from "./watch.js";

/** @typedef {{source: string, name: string, space: string, fresh: boolean, before?: string[]}} Program `before`: the cells above it */
/** @typedef {{name: string, template: string, groups: number[], times: number, wgsl: string}} Kernel */
/** @typedef {{ms: number, kernels: Kernel[], error?: string, trace?: string, line?: number, stopped?: boolean}} Ended */
/**
 * @typedef {object} Tells
 * @property {(text: string, part?: number) => void} say what is loaded, and how much of it
 * @property {(adapter: string) => void} onadapter the GPU's name; "software: slow" is part of it
 * @property {() => void} [onempty] the worker and the names of all spaces are gone
 */

export class Runner {
  /**
   * @param {string} base the site
   * @param {Tells} tells
   */
  constructor(base, tells) {
    this.base = base;
    this.tells = tells;
    /** @type {Promise<import("./client.js").Python> | null} */
    this.python = null;
    /** @type {import("./client.js").Python | null} */
    this.worker = null; // once it is there
    this.runs = 0;
    this.inspects = false; // whether the inspector's archive is unpacked
    /** @type {((ended: Ended) => void) | null} */
    this.end = null; // of the run that is under way
    /** @type {(piece: any) => void} */
    this.onpiece = () => {};
  }

  get running() { return this.end !== null; }

  /** Python, loaded once; after an error the next call tries again. */
  load() {
    this.python ??= this.started().catch((error) => {
      this.python = null;
      throw error;
    });
    return this.python;
  }

  async started() {
    const { say } = this.tells, watch = new Watch((told) => told && say(told));
    const source = text(new URL("runner.py", this.base));
    source.catch(() => {}); // told below
    try {
      say("Python is loading.");
      const python = await start({
        base: this.base, watch, onstatus: (told) => say(`${told[0].toUpperCase()}${told.slice(1)}.`),
        onprogress: ({ loaded, total }) =>
          say(`Python: ${(loaded / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`, loaded / total),
        onbroken: (error) => this.gone({ ms: 0, kernels: [], error: "Error", trace: error.message, line: 0 }),
      });
      python.on("piece", (piece) => piece.run === this.runs && this.onpiece(piece));
      await python.install("runner.py", await source);
      await python.run("import runner");
      this.worker = python;
      this.inspects = false;
      this.tells.onadapter(adapterOf(python));
      return python;
    } finally {
      watch.end();
    }
  }

  /**
   * @param {Program} program
   * @param {(piece: any) => void} onpiece
   * @returns {Promise<Ended>}
   */
  async run({ source, name, space, fresh }, onpiece) {
    if (this.running) throw new Error("A program runs already: stop it first");
    /** @type {Promise<Ended>} */
    const ended = new Promise((resolve) => (this.end = resolve));
    const end = this.end;
    try {
      await Promise.race([this.load(), ended]);
      if (this.end !== end) return await ended; // stopped while Python was loading
      const python = await this.load();
      this.tells.say("Running. The first time, the driver compiles each kernel.");
      this.onpiece = onpiece;
      const number = ++this.runs;
      python.call("runner.run", number, source, name, space, fresh).then(
        (value) => end?.(value),
        (error) => end?.({ ms: 0, kernels: [], error: error.name, trace: error.trace ?? error.message, line: 0 }),
      );
      return await ended;
    } finally {
      if (this.end === end) this.end = null;
    }
  }

  /** End what runs, and load Python again for what comes. */
  stop() {
    /** @type {Ended} */
    const how = { ms: 0, kernels: [], stopped: true };
    if (!this.worker) {
      this.end?.(how); // Python continues to load, for the next run
      this.end = null;
      return;
    }
    this.worker.stop();
    this.gone(how);
    this.load().then(() => this.tells.say("Python is ready again."), (error) => this.tells.say(error.message));
  }

  /** @param {Ended} how the run that was under way ended */
  gone(how) {
    this.python = this.worker = null;
    this.runs += 1; // pieces of the old worker that are still on their way
    this.end?.(how);
    this.end = null;
    this.tells.onempty?.();
  }

  /**
   * @param {Program} program
   * @returns {Promise<string>}
   */
  async inspect({ source, name, space, fresh, before = [] }) {
    const python = await this.load();
    if (!this.inspects) {
      this.tells.say("The inspector is loading.");
      const manifest = await manifestOf(this.base);
      await python.unpack(await fetched(this.base, manifest.inspector, manifest));
      keep(this.base, [new URL(manifest.inspector, this.base).href]);
      this.inspects = true;
    }
    this.tells.say("Running once more, with each kernel timed.");
    return python.call("runner.inspected", source, name, space, fresh, before);
  }
}

/** @param {import("./client.js").Python} python */
function adapterOf({ adapter, software }) {
  return software ? `${adapter} (software: slow)` : adapter;
}
