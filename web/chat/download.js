// @ts-check
/**
 * Turns the files that chat.json lists into bytes whose SHA-256 is what it says: `new Files(base, list, chosen)`. Files
 * that came stay in the browser's Cache API, so that a download which broke off goes on where it was, file by file; a
 * kept copy is checked like a new one.
 */

const TOGETHER = 4; // downloads at a time
const MODES = /** @type {RequestCache[]} */ (["default", "reload"]); // what an HTTP cache has, then anew
const PREFIX = "flambeau-chat:";

/** What cannot be had, with what to do about it. */
export class DownloadError extends Error {}

/** @type {(text: string) => never} */
function fail(text) {
  throw new DownloadError(text);
}

async function sha256(data) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Files {
  /**
   * @param {URL} base the folder's address
   * @param {Record<string, {bytes: number, sha256: string}>} list
   * @param {Map<string, File> | null} chosen the files of a folder that the visitor chose, by name
   */
  constructor(base, list, chosen = null) {
    this.base = base;
    this.list = list;
    this.chosen = chosen;
    this.keeps = true; // whether files could be kept so far
    /** @type {Promise<Cache | null> | null} */
    this.opened = null;
  }

  url(name) {
    return new URL(name, this.base);
  }

  /** Where files are kept; null where the browser keeps none. */
  cache() {
    this.opened ??= this.chosen || !globalThis.caches ? Promise.resolve(null) : caches.open(PREFIX + this.base.pathname).catch(() => null);
    return this.opened;
  }

  sum(names) {
    return names.reduce((sum, name) => sum + this.list[name].bytes, 0);
  }

  /** The bytes of all files, and of those that are kept; copies of other files are dropped. */
  async sizes() {
    const names = Object.keys(this.list), all = this.sum(names), cache = await this.cache();
    if (!cache) return { all, kept: this.chosen ? all : 0 };
    const urls = new Map(names.map((name) => [this.url(name).href, name])), kept = [];
    for (const { url } of await cache.keys()) {
      const name = urls.get(url);
      if (name) kept.push(name);
      else await cache.delete(url);
    }
    return { all, kept: this.sum(kept) };
  }

  /**
   * The files by name. onbytes(sum, all) is called as bytes come.
   * @param {string[]} names
   * @param {AbortSignal} signal
   * @param {(sum: number, all: number) => void} onbytes
   * @param {(name: string, data: Uint8Array) => void} ondone
   */
  async fetch(names, signal, onbytes, ondone) {
    const all = this.sum(names), came = new Map(), waiting = [...names];
    const tell = (name, count) => {
      came.set(name, count);
      onbytes([...came.values()].reduce((a, b) => a + b, 0), all);
    };
    const work = async () => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
        ondone(name, await this.one(name, signal, tell));
    };
    await Promise.all(Array.from({ length: TOGETHER }, work));
  }

  async one(name, signal, tell) {
    const wanted = this.list[name], whole = async (data) => data.length === wanted.bytes && (await sha256(data)) === wanted.sha256;
    const file = this.chosen?.get(name), cache = await this.cache(), url = this.url(name);
    if (this.chosen) {
      const data = file ? new Uint8Array(await file.arrayBuffer()) : fail(`${name} is missing: choose the whole folder.`);
      tell(name, data.length);
      return (await whole(data)) ? data : fail(`${name} is damaged: export the model again.`);
    }
    const kept = await cache?.match(url);
    if (kept) {
      const data = new Uint8Array(await kept.arrayBuffer());
      if (await whole(data)) {
        tell(name, data.length);
        return data;
      }
      await cache.delete(url);
    }
    let problem = "";
    for (const mode of MODES) {
      tell(name, 0);
      const data = await this.received(name, url, mode, signal, tell).catch((error) => {
        signal.throwIfAborted();
        problem = error.message;
      });
      if (!data) continue;
      if (await whole(data)) {
        await this.keep(cache, url, data);
        return data;
      }
      problem = `${name} is damaged: ${data.length} of ${wanted.bytes} bytes came, with another checksum. Put the exported folder on the server again.`;
    }
    return fail(problem);
  }

  async received(name, url, mode, signal, tell) {
    const response = await fetch(url, { cache: mode, signal }).catch((error) => fail(`${name} cannot be loaded (${error.message}): check the connection.`));
    if (!response.ok) fail(`${name} cannot be loaded (${response.status}): put the whole folder on the server.`);
    const reader = response.body.getReader(), parts = [];
    let count = 0;
    for (;;) {
      const { done, value } = await reader.read().catch((error) => fail(`${name} broke off after ${count} bytes (${error.message}): check the connection.`));
      if (done) break;
      parts.push(value);
      tell(name, (count += value.length));
    }
    const data = new Uint8Array(count);
    parts.reduce((at, part) => (data.set(part, at), at + part.length), 0);
    return data;
  }

  /** Keep a file for the next visit; a browser without room for it goes on without. */
  async keep(cache, url, data) {
    try {
      await cache?.put(url, new Response(data));
      this.keeps &&= Boolean(cache);
    } catch {
      this.keeps = false;
    }
  }

  /** Remove all kept copies. */
  async forget() {
    await globalThis.caches?.delete(PREFIX + this.base.pathname);
    this.opened = null;
  }
}
