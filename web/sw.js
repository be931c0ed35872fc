/**
 * The site's cache: files named by their hash are kept once their content was checked against it; the others come
 * from the network while there is one. So the page works offline, and a broken download is never kept. What was
 * kept is checked again when it is asked for: a damaged copy is thrown away and fetched anew.
 */
const CACHE = "flambeau-1", NAMED = /-([0-9a-f]{12})(\.zip$|\/)/, CHECKED = "x-flambeau-sha256";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { request } = event, url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== self.location.origin) return;
  event.respondWith(NAMED.test(url.pathname) ? kept(event) : newest(event));
});

async function kept(event) {
  const cache = await caches.open(CACHE), found = await cache.match(event.request);
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
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(event.request);
    if (response.ok) event.waitUntil(store(cache, event.request, response.clone()));
    return response;
  } catch (error) {
    const found = await cache.match(event.request, { ignoreSearch: true });
    if (found) return found;
    throw error;
  }
}

/** Keep a response whose content is what the manifest says; drop what the manifest no longer names. */
async function keep(cache, request, response) {
  const data = await response.arrayBuffer();
  const manifest = await (await fetch(new URL("manifest.json", self.registration.scope))).json();
  const name = request.url.slice(self.registration.scope.length), sha = await sha256(data);
  if (manifest.files[name]?.sha256 !== sha) return;
  const headers = new Headers(response.headers);
  headers.set(CHECKED, sha);
  await store(cache, request, new Response(data, { headers }));
  for (const old of await cache.keys()) {
    const file = old.url.slice(self.registration.scope.length);
    if (NAMED.test(old.url) && !(file in manifest.files)) await cache.delete(old);
  }
}

/** No room for the cache is no error: the page works without it, and is told. */
async function store(cache, request, response) {
  try {
    await cache.put(request, response);
  } catch (error) {
    if (error.name !== "QuotaExceededError") throw error;
    for (const client of await self.clients.matchAll()) client.postMessage({ full: true });
  }
}

async function sha256(data) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
