// @ts-check
/**
 * A module worker that loads Python, Flambeau and the GPU, and answers a page's messages; client.js speaks to it.
 *
 * page -> worker, each with an `id` of the page's choice:
 *   {id, type: "start", base}            load everything from the site at `base`; value: {adapter, software, loaded: [urls]}
 *   {id, type: "install", path, source}  put a file, text or bytes, where modules are found
 *   {id, type: "unpack", data}           put a zip archive's files where packages are
 *   {id, type: "run", source}            run source; value: that of its last expression
 *   {id, type: "call", name, args}       call "module.function" with JavaScript values
 * worker -> page:
 *   {id, value}  or  {id, error: {name, message, trace}}
 *   {event: "status", value: "loading Python"}
 *   {event: "progress", value: {loaded, total}}          bytes of what is downloaded
 *   {event: "pipelines", value: {compiled, all}}         kernels that are compiled, of those asked for until now
 *   {event: "broken", value: "out of memory"}            Python is gone, and answers nothing more
 *   {event: any, value}                                  by `flambeau_page.emit(event, value)` in Python
 *
 * Values cross as structured clones: numbers, strings, lists, dicts (objects), typed arrays (memoryview in Python;
 * numbers in an array, a memoryview or a Data come back as typed arrays). Functions may be `async`, and inside
 * any call Python may wait for the GPU; calls that wait at the same time take turns.
 */

import * as executor from "./executor.js";
import { answered, counted, fetched, manifestOf, runnable } from "./fetched.js";
import { Fault, webassembly } from "./faults.js";

const HOME = "/home/pyodide"; // on sys.path
/** @type {any} */
let python = null; // Pyodide, once it runs

const answers = {
  async start({ base }) {
    python ??= await load(base);
    const device = await python.runPythonAsync("import flambeau\nawait flambeau.open_device()");
    device._executor.onprogress = (compiled, all) => emit("pipelines", { compiled, all });
    const value = { adapter: device.name.replace(/^gpu:/, ""), software: device.limits.software };
    value.loaded = performance.getEntriesByType("resource").map(({ name }) => name);
    device.destroy();
    return value;
  },
  async install({ path, source }) {
    const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
    python.FS.mkdirTree(`${HOME}/${folder}`);
    python.FS.writeFile(`${HOME}/${path}`, source);
    python.pyimport("importlib").invalidate_caches();
  },
  async unpack({ data }) {
    unpacked(python, [data]);
  },
  async run({ source }) {
    return toPage(await python.runPythonAsync(source));
  },
  async call({ name, args }) {
    const dot = name.lastIndexOf("."), called = python.pyimport(name.slice(0, dot))[name.slice(dot + 1)];
    return toPage(await called.callPromising(...args.map((value) => python.toPy(value))));
  },
};

onmessage = async ({ data }) => {
  try {
    postMessage({ id: data.id, value: await answers[data.type](data) });
  } catch (error) {
    postMessage({ id: data.id, error: asMessage(error) });
    if (ended(error)) emit("broken", asMessage(error).message);
  }
};

addEventListener("unhandledrejection", (event) => {
  if (!ended(event.reason)) return;
  event.preventDefault(); // the call that ended it is never answered
  emit("broken", event.reason.message);
});

/**
 * Whether Python is gone with an error: out of memory, or a trap of WebAssembly.
 * @param {any} error
 */
function ended(error) {
  return error instanceof WebAssembly.RuntimeError || Boolean(error?.pyodide_fatal_error);
}

/**
 * @param {string} event
 * @param {any} value
 */
function emit(event, value) {
  postMessage({ event, value });
}

/**
 * A Python value as one that can be posted.
 * @param {any} value
 */
function toPage(value) {
  if (!(value instanceof python.ffi.PyProxy)) return value;
  try {
    const plain = value.flat && value.dtype ? value.flat : value; // a Data
    return plain.toJs({ dict_converter: Object.fromEntries });
  } finally {
    value.destroy();
  }
}

/**
 * An error of Python as its type, its last line and its traceback.
 * @param {any} error
 * @returns {{name: string, message: string, trace: string}}
 */
function asMessage(error) {
  const trace = error.message ?? String(error);
  if (!(python && error instanceof python.ffi.PythonError)) return { name: error.name, message: trace, trace };
  const last = trace.trim().split("\n").filter((line) => /^[\w.]+(:|$)/.test(line)).pop() ?? trace;
  return { name: error.type, message: last.replace(/^[\w.]+: /, ""), trace };
}

/** @param {string} base */
async function load(base) {
  emit("status", "loading Python");
  await webassembly(); // before anything large is asked for
  const manifest = await manifestOf(base);
  const broken = count(manifest, base);
  return Promise.race([broken, started(manifest, base)]).catch(async (error) => {
    throw await causeOf(error, manifest, base);
  });
}

async function started(manifest, base) {
  const packages = Promise.all(manifest.packages.map((name) => fetched(base, name, manifest)));
  packages.catch(() => {}); // told below
  const made = await pyodide(manifest, new URL(manifest.pyodide, base), base);
  emit("status", "starting Flambeau");
  unpacked(made, await packages);
  made.registerJsModule("flambeau_page", {
    executor, // Python would make a module of its text, which takes more than a content policy may allow
    emit: (event, value) => emit(event, value instanceof made.ffi.PyProxy ? toPage(value) : value),
  });
  return made;
}

function unpacked(python, archives) {
  const extractDir = python.runPython("import site; site.getsitepackages()[0]");
  for (const data of archives) python.unpackArchive(data, "zip", { extractDir });
  python.pyimport("importlib").invalidate_caches();
}

/** The file that is to blame where Python does not start: its scripts are imported, and nobody sees what comes. */
async function causeOf(error, manifest, base) {
  if (error instanceof Fault && error.cause !== "start") return error;
  const { files, pyodide, stdlib } = manifest, core = Object.keys(files).filter((name) => name.startsWith(pyodide));
  try {
    for (const name of core) if (name.endsWith(".mjs")) await runnable(new URL(name, base));
    for (const name of [...core, stdlib]) await fetched(base, name, manifest);
  } catch (fault) {
    return fault;
  }
  return error instanceof Fault ? error : new Fault("start", { why: error.message });
}

async function pyodide(manifest, core, base) {
  const { loadPyodide } = await import(`${core.href}pyodide.mjs`);
  return loadPyodide({
    indexURL: core.href,
    stdLibURL: new URL(manifest.stdlib, base).href,
    lockFileContents: JSON.stringify(manifest.lock),
  });
}

/**
 * Tell the page the bytes of what Python takes as they arrive, whoever fetches them; of modules, which are imported,
 * they are not to be had. Bytes are those of the files: what crosses may be compressed. The promise is rejected when
 * one cannot be had, breaks off or does not run: Pyodide itself would wait for it, or end without a word about it.
 */
function count({ files, packages, stdlib, pyodide }, base) {
  const core = (name) => name.startsWith(pyodide) && !name.endsWith(".mjs");
  const own = (name) => name === stdlib || core(name) || packages.includes(name);
  /** @type {Map<string, number>} */
  const sizes = new Map();
  for (const name of Object.keys(files).filter(own)) sizes.set(new URL(name, base).href, files[name].bytes);
  const total = [...sizes.values()].reduce((a, b) => a + b, 0), plain = globalThis.fetch;
  let loaded = 0;
  return new Promise((_, reject) => {
    const told = (error) => {
      reject(error);
      throw error;
    };
    const tell = (bytes) => {
      loaded += bytes;
      emit("progress", { loaded: Math.min(loaded, total), total });
    };
    globalThis.fetch = async (given, options) => {
      const url = new URL(given instanceof Request ? given.url : given, base), size = sizes.get(url.href);
      if (size === undefined) return plain(given, options);
      const response = await answered(url, options, plain).catch(told);
      return new Response(whole(response.body, url, size, tell, reject), { headers: headersOf(response, url) });
    };
    const instantiate = WebAssembly.instantiateStreaming;
    WebAssembly.instantiateStreaming = (source, imports) =>
      instantiate(source, imports).catch((error) => told(new Fault("start", { why: error.message })));
  });
}

/**
 * A file's stream, counted; `broken` is told where another number of bytes comes.
 * @param {ReadableStream} body
 * @param {URL} url
 * @param {number} size in bytes
 * @param {(bytes: number) => void} tell
 * @param {(fault: Fault) => void} broken
 */
function whole(body, url, size, tell, broken) {
  const name = url.pathname;
  let came = 0;
  return counted(body, (bytes) => {
    came += bytes;
    tell(bytes);
  }, () => {
    if (came < size) broken(new Fault("short", { name, came, size }));
    if (came > size) broken(new Fault("damaged", { name }));
  });
}

/**
 * Of an answer, with the type that browsers want of WebAssembly: many servers do not know it.
 * @param {Response} response
 * @param {URL} url
 */
function headersOf(response, url) {
  const headers = new Headers(response.headers);
  if (url.pathname.endsWith(".wasm")) headers.set("content-type", "application/wasm");
  return headers;
}
