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

/** A file of the site as JSON, or as text: what is small, has no hash and may be read once. */
export async function json(url) {
  const source = await text(url);
  try {
    return JSON.parse(source);
  } catch (error) {
    throw new Error(`${new URL(url).pathname} is damaged (${error.message}): build the site again`);
  }
}

export async function text(url) {
  return new TextDecoder().decode(await received(new URL(url), "default"));
}

const RETRY = "check the connection and try again";

async function received(url, cache, onbytes = () => {}) {
  const response = await fetch(url, { cache }).catch((error) => {
    throw new Error(`${url.pathname} cannot be had (${error.message}): ${RETRY}`);
  });
  if (!response.ok) throw new Error(`${url.pathname} cannot be had: HTTP ${response.status}`);
  return new Response(counted(response.body, onbytes)).arrayBuffer().catch((error) => {
    throw new Error(`${url.pathname} breaks off (${error.message}): ${RETRY}`);
  });
}

/** A stream that tells the bytes that pass: `onbytes(count)`, and `onend(error)`, without an error where all came. */
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
