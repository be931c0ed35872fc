// @ts-check
/**
 * Turns a name of the manifest into bytes that are what the manifest says: `await fetched(base, name, manifest)`, or
 * into a Fault. A copy that is damaged, wherever it was kept, is asked for once more past all caches.
 */
import { Fault, unreachable } from "./faults.js";

const CACHES = ["default", "reload"]; // what was kept, then anew

export async function fetched(base, name, { files }, onbytes) {
  for (const cache of CACHES) {
    const data = await received(new URL(name, base), cache, onbytes);
    if (await sha256(data) === files[name].sha256) return data;
  }
  throw new Fault("damaged", { name });
}

/** What the site at `base` consists of; src/flambeau/site/build.py writes it. */
export async function manifestOf(base) {
  const url = new URL("manifest.json", base), source = await text(url);
  try {
    const manifest = JSON.parse(source), { stdlib, selftest, onnx, inspector, timm, packages, mnist, reader, image } = manifest;
    const named = [stdlib, selftest, onnx, inspector, ...(timm ? [timm] : []), ...packages, ...Object.values(mnist), ...reader, ...image];
    if (manifest.pyodide && named.every((name) => manifest.files[name].sha256)) return manifest;
  } catch {} // told below
  throw new Fault("damaged", { name: url.pathname });
}

/** Whether this visitor's connection is one to load Python over before it is asked for. */
export function plenty() {
  const { saveData = false, effectiveType = "4g" } = navigator.connection ?? {};
  return !saveData && effectiveType === "4g";
}

/** Call a function when the page has nothing else to do. */
export const idle = (work) => (globalThis.requestIdleCallback ?? ((later) => setTimeout(later, 500)))(() => work());

/** A file of the site as text: what is small, has no hash and may be read once. */
export async function text(url) {
  return new TextDecoder().decode(await received(new URL(url), "default"));
}

async function received(url, cache, onbytes = () => {}) {
  const { body } = await answered(url, { cache });
  return new Response(counted(body, onbytes)).arrayBuffer().catch((error) => {
    throw error instanceof Fault ? error : new Fault("cut", { name: url.pathname, why: error.message });
  });
}

/** The answer for a file of the site; an error that a cache may have kept is asked about once more. */
export async function answered(url, given = {}, get = fetch) {
  let response;
  for (const cache of new Set([given.cache ?? "default", "reload"])) {
    response = await get(url, { ...given, cache }).catch(async (error) => {
      throw error instanceof Fault ? error : await unreachable(url, error);
    });
    if (response.ok) break;
  }
  const name = url.pathname, { status } = response;
  if (!response.ok) throw new Fault(status < 500 ? "missing" : "server", { name, status });
  if (/html/.test(typeOf(response)) && !/(\/|\.html)$/.test(name)) throw new Fault("page", { name });
  return response;
}

/** Throw what keeps a browser from running a script of the site, where that can be seen. */
export async function runnable(url) {
  const response = await answered(url), type = typeOf(response);
  await response.arrayBuffer().catch((error) => {
    throw new Fault("cut", { name: url.pathname, why: error.message });
  });
  if (!/javascript|ecmascript/.test(type)) throw new Fault("type", { name: url.pathname, type });
}

const typeOf = (response) => (response.headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();

/**
 * A stream that tells the bytes that pass, and its end, without an error where all came.
 * @param {ReadableStream} body
 * @param {(count: number) => void} onbytes
 * @param {(error?: Error) => void} [onend]
 */
export function counted(body, onbytes, onend = () => {}) {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          onbytes(value.length);
          return controller.enqueue(value);
        }
        onend();
        controller.close();
      } catch (error) {
        onend(error);
        controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

async function sha256(data) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
