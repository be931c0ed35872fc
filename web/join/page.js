// @ts-check
/**
 * Takes part in a training: opens the WebSocket of the server that sent this page, with the token behind the # of its
 * link, and answers each shard with the loss and the gradients of its items, by a saved program and without Python.
 * src/flambeau/tabs/ is the other side; messages.py says what a message is.
 */
import { check } from "../check.js";
import { notice } from "../notice.js";
import { load, open } from "../program.js";
import * as state from "../state.js";

const FORMAT = 1; // of the messages
const REASONS = { // codes of a close without a text
  1006: "the training can't be reached: it has ended, or the connection broke",
  1009: "the training refused a message that is too long",
};
const ARRAYS = {
  f32: Float32Array, i32: Int32Array, u32: Uint32Array, bool: Uint8Array, i8: Int8Array, u8: Uint8Array,
  f16: Uint16Array, bf16: Uint16Array, i16: Int16Array, u16: Uint16Array, i64: BigInt64Array, u64: BigUint64Array,
};
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const count = (shape) => shape.reduce((a, b) => a * b, 1);
/** @type {(source: any, options?: object) => Promise<any>} */
const opened = load;

/** @param {ArrayBuffer} raw */
function decoded(raw) {
  const size = new DataView(raw).getUint32(0, true);
  return { head: JSON.parse(new TextDecoder().decode(new Uint8Array(raw, 4, size))), at: 4 + size };
}

/**
 * @param {object} head
 * @param {Float32Array[]} [parts]
 */
function encoded(head, parts = []) {
  const text = new TextEncoder().encode(JSON.stringify(head));
  const size = Math.ceil((text.length + 4) / 8) * 8 - 4, length = parts.reduce((sum, part) => sum + part.byteLength, 0);
  const bytes = new Uint8Array(4 + size + length).fill(32, 4, 4 + size);
  new DataView(bytes.buffer).setUint32(0, size, true);
  bytes.set(text, 4);
  let at = 4 + size;
  for (const part of parts) {
    bytes.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at);
    at += part.byteLength;
  }
  return bytes;
}

class Work {
  /**
   * @param {WebSocket} socket
   * @param {any} executor the GPU
   */
  constructor(socket, executor) {
    this.socket = socket;
    this.executor = executor;
    /** @type {any} */
    this.program = null;
    this.shapes = this.specs = /** @type {any[]} */ ([]);
    this.weights = {};
    this.done = this.spent = 0;
    this.ended = false;
    this.queue = Promise.resolve(); // messages are answered one after another
  }

  take(raw) {
    this.queue = this.queue.then(() => this.answer(raw)).catch((error) => this.fail(error));
  }

  async answer(raw) {
    if (this.ended) return;
    const { head, at } = decoded(raw);
    if (head.kind === "welcome") await this.welcome(head, raw, at);
    else if (head.kind === "weights") this.cut(raw, at);
    else if (head.kind === "shard") await this.compute(head, raw, at);
  }

  async welcome({ files, shapes, inputs }, raw, at) {
    const source = {};
    for (const [name, size] of Object.entries(files)) {
      source[name] = new Uint8Array(raw, at, size);
      at += size;
    }
    this.shapes = shapes;
    this.specs = inputs;
    state.told("loading the program");
    this.program = await opened(source, { executor: this.executor });
    byId("connection").textContent = "connected";
    byId("size").textContent = shapes.reduce((sum, shape) => sum + count(shape), 0).toLocaleString("en");
    byId("stop").disabled = false;
    state.ready(`ready on ${this.program.adapter}`);
  }

  /** The weights are one vector, in the order of the program's inputs. */
  cut(raw, at) {
    this.weights = {};
    this.shapes.forEach((shape, i) => {
      const length = count(shape);
      this.weights[`w${i}`] = { data: new Float32Array(raw, at, length), shape };
      at += 4 * length;
    });
  }

  async compute({ step, shard, seed, sizes }, raw, at) {
    const begin = performance.now(), inputs = {};
    this.specs.forEach(([dtype, shape], i) => {
      const data = raw.slice(at, at + count(shape) * ARRAYS[dtype].BYTES_PER_ELEMENT);
      inputs[`x${i}`] = { data: new ARRAYS[dtype](data), shape };
      at += sizes[i];
    });
    this.program.seed(seed);
    const results = await this.program.run({ ...this.weights, ...inputs });
    if (this.ended) return;
    this.socket.send(encoded({ kind: "result", step, shard }, results.map(({ data }) => data)));
    this.done += 1;
    this.spent += performance.now() - begin;
    byId("shards").textContent = String(this.done);
    byId("step").textContent = String(step);
    byId("time").textContent = `${(this.spent / this.done).toFixed(1)} ms`;
  }

  fail(error) {
    if (this.ended) return;
    this.end();
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(encoded({ kind: "failed", why: String(error.message).slice(0, 300) }));
    this.socket.close();
    byId("connection").textContent = "ended by an error";
    state.failed(error);
  }

  end() {
    this.ended = true;
    byId("stop").disabled = true;
    this.program?.dispose();
  }

  /** The visitor's own end. */
  stop() {
    this.end();
    this.socket.send(encoded({ kind: "bye" }));
    this.socket.close();
    byId("connection").textContent = "stopped";
    state.ready("stopped: this tab computes nothing any more");
  }
}

/** Open the GPU, then the connection, and say hello. */
async function begin() {
  state.begun();
  const { obstacle, warning } = await check();
  if (obstacle) throw new Error(obstacle);
  if (warning) notice(warning);
  const token = location.hash.slice(1);
  if (!token) throw new Error("The link has no token behind its #: open the link that the training printed");
  state.told("opening the GPU");
  const executor = await open();
  byId("adapter").textContent = executor.name;
  state.told("connecting");
  const socket = new WebSocket(new URL("socket", location.href.replace(/^http/, "ws")).href.replace(/#.*/, ""));
  const work = new Work(socket, executor);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => socket.send(encoded({ kind: "hello", token, format: FORMAT, adapter: executor.name }));
  socket.onmessage = ({ data }) => work.take(data);
  socket.onclose = ({ code, reason }) => {
    if (work.ended) return;
    work.end();
    const why = reason || REASONS[code] || "the training closed the connection";
    byId("connection").textContent = "ended";
    if (code === 4000) state.ready(`ended: ${why}`);
    else state.failed(new Error(`This tab takes no part: ${why}`));
  };
  byId("stop").addEventListener("click", () => work.stop());
  addEventListener("pagehide", () => work.ended || work.stop());
  globalThis.flambeau = work; // for the console, and tests
}

begin().catch(state.failed);
