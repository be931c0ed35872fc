// @ts-check
/**
 * The site's cache: files named by their hash are kept once their content was checked against it; those of the pages
 * come from the network while there is one. So the pages work offline, and a broken download is never kept. What was
 * kept is checked again when it is asked for: a damaged copy is thrown away and fetched anew. Whatever is no file of
 * the site passes by. offline.js sends
 *   {claim: true}    serve the pages that are open, too
 *   {keep: [urls]}   keep what they loaded before that, which the browser still has, and the files of all pages
 */
const FILES = {}; // of the pages, by name the hash of each: src/flambeau/site/pages.py writes them here
const MANIFEST = "manifest.json", LATER = /\.jpg$|^inspector\//; // kept when they are first seen: large, and few see them
const CACHE = "flambeau-1", NAMED = /-([0-9a-f]{12})(\.zip$|\/)/, CHECKED = "x-flambeau-sha256";

/** @type {any} */
const worker = self; // a service worker, of which TypeScript's library of pages knows nothing

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener("message", (event) => {
  if (event.data.claim) event.waitUntil(worker.clients.claim());
  if (event.data.keep) event.waitUntil(Promise.all([...event.data.keep.map(once), ...[MANIFEST, ...Object.keys(FILES)].map(page)]));
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(worker.registration.scope)) return;
  if (NAMED.test(new URL(request.url).pathname)) event.respondWith(kept(event));
  else if (nameOf(request.url) in FILES || nameOf(request.url) === MANIFEST) event.respondWith(newest(event));
});

/**
 * A file's name in the site; a folder's is that of its page.
 * @param {string} address
 */
function nameOf(address) {
  const url = new URL(address), name = `${url.origin}${url.pathname}`.slice(worker.registration.scope.length);
  return name === "" || name.endsWith("/") ? `${name}index.html` : name;
}

/** What a file is kept as: a page by its folder. */
const keyOf = (name) => new URL(name.replace(/(^|\/)index\.html$/, "$1"), worker.registration.scope).href;

async function kept(event) {
  const cache = await caches.open(CACHE), found = await cache.match(event.request, { ignoreVary: true });
  if (found && event.request.cache !== "reload") {
    const data = await found.arrayBuffer();
    if (await sha256(data) === found.headers.get(CHECKED)) return new Response(data, { headers: found.headers });
  }
  if (found) await cache.delete(event.request);
  const response = await fetch(event.request);
  if (response.ok) event.waitUntil(keep(cache, event.request, response.clone()));
  return response;
}

async function newest(event) {
  const cache = await caches.open(CACHE), key = keyOf(nameOf(event.request.url));
  try {
    const response = await fetch(event.request);
    if (response.ok) event.waitUntil(store(cache, key, response.clone()));
    return response;
  } catch (error) {
    const found = await cache.match(key, { ignoreVary: true });
    if (found) return found;
    throw error;
  }
}

/**
 * Keep a file of a page that was not opened yet, so that it can be opened offline.
 * @param {string} name
 */
async function page(name) {
  if (LATER.test(name)) return;
  const cache = await caches.open(CACHE), key = keyOf(name), found = await cache.match(key, { ignoreVary: true });
  if (found && name in FILES && (await sha256(await found.arrayBuffer())).startsWith(FILES[name])) return;
  const response = await fetch(key, { cache: "no-cache" }).catch(() => null);
  if (response?.ok) await store(cache, key, response); // else: offline again
}

/** @type {Map<string, Promise<void>>} */
const coming = new Map(); // url -> promise, of what is being kept: two pages, or two messages, name the same

/** @param {string} url */
function once(url) {
  if (!coming.has(url)) coming.set(url, loaded(url).finally(() => coming.delete(url)));
  return coming.get(url);
}

/**
 * Keep what a page loaded while no service worker looked on.
 * @param {string} url
 */
async function loaded(url) {
  const cache = await caches.open(CACHE);
  if (!url.startsWith(worker.registration.scope) || !NAMED.test(new URL(url).pathname)) return; // page() has the others
  if (await cache.match(url, { ignoreVary: true })) return;
  const request = new Request(url, { cache: "force-cache" }), response = await fetch(request).catch(() => null);
  if (response?.ok) await keep(cache, request, response); // else: offline again
}

/**
 * Keep a response whose content is what the manifest says; drop what the manifest no longer names.
 * @param {Cache} cache
 * @param {Request} request
 * @param {Response} response
 */
async function keep(cache, request, response) {
  const data = await response.arrayBuffer();
  const name = request.url.slice(worker.registration.scope.length), sha = await sha256(data);
  const files = await filesWith(name);
  if (files[name]?.sha256 !== sha) return;
  const headers = new Headers(response.headers);
  headers.set(CHECKED, sha);
  for (const name of ["content-encoding", "content-length"]) headers.delete(name); // of what crossed
  await store(cache, request, new Response(data, { headers }));
  for (const old of await cache.keys()) {
    const file = old.url.slice(worker.registration.scope.length);
    if (NAMED.test(old.url) && !(file in files)) await cache.delete(old);
  }
}

/** @type {Promise<Record<string, {sha256: string}>> | null} */
let listed = null; // the manifest's files

/**
 * The files of the manifest; it is read anew when it does not know a name.
 * @param {string} name
 */
async function filesWith(name) {
  listed ??= read();
  return name in await listed ? listed : (listed = read());
}

async function read() {
  try {
    return (await (await fetch(new URL("manifest.json", worker.registration.scope))).json()).files;
  } catch (error) {
    listed = null;
    throw error;
  }
}

/**
 * No room for the cache is no error: the page works without it, and is told.
 * @param {Cache} cache
 * @param {Request | string} request
 * @param {Response} response
 */
async function store(cache, request, response) {
  try {
    await cache.put(request, response);
  } catch (error) {
    if (error.name !== "QuotaExceededError") throw error;
    for (const client of await worker.clients.matchAll()) client.postMessage({ full: true });
  }
}

/** @param {ArrayBuffer} data */
async function sha256(data) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
