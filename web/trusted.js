// @ts-check
/**
 * Turns an address of the site's own scripts into what a page with Trusted Types lets run, and refuses any other:
 * `new Worker(script(url), ...)`. Browsers without Trusted Types take the address as it is.
 */
const SITE = new URL("./", import.meta.url).href;

function checked(address) {
  if (address.startsWith(SITE)) return address;
  throw new TypeError(`${address} is no script of this site`);
}

let policy = null;

export function script(url) {
  const address = new URL(url).href;
  if (!globalThis.trustedTypes) return checked(address);
  policy ??= trustedTypes.createPolicy("flambeau", { createScriptURL: checked });
  return policy.createScriptURL(address);
}
