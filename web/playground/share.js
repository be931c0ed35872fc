// @ts-check
/** Turns a program into the fragment of an address and back: "#code=" and its deflated bytes in base 64 for addresses. */
const MOST = 200_000; // bytes of a program: a short address may hold a text of gigabytes
const MARK = "#code=";

/** @param {string} source */
export async function asFragment(source) {
  const bytes = new Uint8Array(await new Response(through(new TextEncoder().encode(source), new CompressionStream("deflate-raw"))).arrayBuffer());
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return MARK + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/**
 * The program in a fragment, or null where none is in it; an error where it is damaged.
 * @param {string} fragment
 */
export async function fromFragment(fragment) {
  if (!fragment.startsWith(MARK)) return null;
  try {
    const letters = atob(fragment.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/"));
    const reader = through(Uint8Array.from(letters, (letter) => letter.charCodeAt(0)), new DecompressionStream("deflate-raw")).getReader();
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let text = "", size = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      size += value.length;
      if (size > MOST) throw new Error("too long");
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    throw new Error("The link is damaged: its program can't be read. Ask for it again.");
  }
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {CompressionStream | DecompressionStream} stream
 */
function through(bytes, stream) {
  return new Blob([bytes]).stream().pipeThrough(/** @type {any} */ (stream));
}
