// @ts-check
/**
 * Turns a page into one that works offline after its first load: `const obstacle = await control(base)` before what
 * is to be kept is loaded, `keep(base, urls)` after. sw.js has the cache; nothing is downloaded twice.
 */

import { script } from "./trusted.js";

const LONGEST = 3000; // milliseconds that a page waits for the service worker before it loads without it
const controls = new Map(); // base -> promise

/** Let the service worker see what this page loads from now on; "" or why it cannot, and then nothing is kept. */
export function control(base) {
  if (!controls.has(base)) controls.set(base, taken(base));
  return controls.get(base);
}

async function taken(base) {
  const workers = navigator.serviceWorker;
  if (!workers) return "it has no service workers here";
  try {
    await Promise.race([controlling(workers, base), new Promise((resolve) => setTimeout(resolve, LONGEST))]);
    return "";
  } catch (error) {
    return error.message;
  }
}

async function controlling(workers, base) {
  const { active } = await workers.register(script(new URL("sw.js", base)), { scope: base });
  if (workers.controller) return;
  const controlled = new Promise((resolve) => workers.addEventListener("controllerchange", resolve, { once: true }));
  active?.postMessage({ claim: true }); // a forced reload took the page from it
  await controlled;
}

/** Have kept, too, what this page loaded before it was controlled, and `urls`: from the browser's own cache. */
export async function keep(base, urls = []) {
  const found = await navigator.serviceWorker?.getRegistration(base).catch(() => null); // control() said why
  const loaded = performance.getEntriesByType("resource").map(({ name }) => name);
  found?.active?.postMessage({ keep: [location.href, ...loaded, ...urls] });
}
