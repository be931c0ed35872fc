// @ts-check
/**
 * Turns what goes wrong on the way to a page that runs into one sentence for its visitor, who can do something about
 * the first three and tell whoever runs the site about the others: `throw new Fault("missing", { name, status })`.
 */
const AGAIN = "check the connection and try again", HOST = "whoever runs this site";

export const FAULTS = { // a cause -> what the page says
  offline: ({ name }) => `${name} cannot be had, because this device is offline: connect it and try again`,
  unreachable: ({ name, why }) => `${name} cannot be had (${why}): ${AGAIN}`,
  cut: ({ name, why }) => `${name} breaks off (${why}): ${AGAIN}`,
  short: ({ name, came, size }) => `${name} breaks off after ${came} of ${size} bytes: ${AGAIN}`,
  damaged: ({ name }) => `${name} arrives damaged: try again, and if that does not help, ${HOST} must upload it again`,
  missing: ({ name, status }) => `${name} is not there (HTTP ${status}): ${HOST} must upload the whole site again`,
  page: ({ name }) => `A page comes in the place of ${name}: ${HOST} must upload the whole site again`,
  server: ({ name, status }) => `The server of this site fails (HTTP ${status} for ${name}): try again in a while`,
  type: ({ name, type }) => `${name} comes as ${type || "a file without a type"}, and browsers run text/javascript alone:`
    + ` ${HOST} must give it that type`,
  policy: ({ name, policy }) => `The content policy of this site forbids ${name} (${policy}): ${HOST} must allow it`,
  webassembly: ({ why }) => `This browser runs no WebAssembly here (${why}): allow it for this page, or take another browser`,
  start: ({ why }) => `Python does not start (${why}): close other pages and try again`,
  worker: ({ why }) => `The worker could not start (${why}): try again`,
  stopped: ({ why }) => `Python stopped (${why}): try again, and it starts anew`,
};

export class Fault extends Error {
  constructor(cause, told) {
    super(FAULTS[cause](told));
    this.name = "Fault";
    this.cause = cause;
  }
}

const forbidden = new Map(); // address, or what a browser calls it -> the part of the content policy that forbids it
globalThis.addEventListener?.("securitypolicyviolation", ({ blockedURI, effectiveDirective }) =>
  forbidden.set(blockedURI, effectiveDirective));

/** The part of the site's content policy that forbade something, or "". */
export async function policyOn(...names) {
  await new Promise((resolve) => setTimeout(resolve, 20)); // reported after what it forbids
  return names.map((name) => forbidden.get(name)).find(Boolean) ?? "";
}

/** Why a fetch of a file failed. */
export async function unreachable(url, error) {
  const name = url.pathname, policy = await policyOn(url.href);
  if (policy) return new Fault("policy", { name, policy });
  return navigator.onLine === false ? new Fault("offline", { name }) : new Fault("unreachable", { name, why: error.message });
}

/** Throw where this browser or the site's content policy lets no WebAssembly run. */
export async function webassembly() {
  try {
    new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)); // the smallest
  } catch (error) {
    const policy = await policyOn("wasm-eval", "eval");
    if (policy || /policy/i.test(error.message))
      throw new Fault("policy", { name: "WebAssembly", policy: `${policy || "script-src"} without 'wasm-unsafe-eval'` });
    throw new Fault("webassembly", { why: error.message });
  }
}
