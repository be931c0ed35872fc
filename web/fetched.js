/**
 * Turns a name of the manifest into bytes that are what the manifest says: `await fetched(base, name, manifest)`.
 * A copy that is damaged, wherever it was kept, is asked for once more past all caches.
 */

export async function fetched(base, name, { files }, onbytes) {
  for (const cache of ["default", "reload"]) {
    const data = await received(new URL(name, base), cache, onbytes);
    if (await sha256(data) === files[name].sha256) return data;
  }
  throw new Error(`${name} arrives damaged: reload the page, or build the site again`);
}

async function received(url, cache, onbytes) {
  const response = await fetch(url, { cache }).catch((error) => {
    throw new Error(`${url.pathname} cannot be had (${error.message}): is the server still there?`);
  });
  if (!response.ok) throw new Error(`${url.pathname} cannot be had: HTTP ${response.status}`);
  if (!onbytes || !response.body) return response.arrayBuffer();
  const counted = new TransformStream({
    transform(chunk, controller) {
      onbytes(chunk.length);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(counted)).arrayBuffer();
}

async function sha256(data) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
