// @ts-check
/**
 * Turns a page's start into its three lines: #status, #progress and #again, which loads the page anew.
 * `told` says what happens, `failed` what went wrong, `stalled` that nothing happens, or "" when something does again.
 * What is shown changes with every piece that comes; #state-spoken, which is read aloud, when something else begins.
 */
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
let wrong = false;

function show(text) {
  const stage = text.replace(/: \d.*/, ""); // without the numbers of how far it is
  byId("status").textContent = text;
  if (byId("state-spoken").textContent !== stage) byId("state-spoken").textContent = stage;
}

/** To be called first: loading.js says no more that the page's scripts cannot be had. */
export function begun() {
  document.documentElement.dataset.runs = "";
  byId("late")?.remove();
  byId("again").onclick = () => location.reload();
  byId("again").hidden = true;
  busy("checking for WebGPU");
}

/** Something that may take a while begins; `ready` or `failed` ends it. */
export function busy(text) {
  byId("progress").hidden = false;
  told(text, 0);
}

export function told(text, part) {
  if (wrong) return; // by a call that was under way
  show(text);
  if (part !== undefined) byId("progress").value = part;
}

export function ready(text) {
  wrong = false;
  byId("status").parentElement.classList.remove("wrong");
  byId("progress").hidden = byId("again").hidden = true;
  told(text);
}

export function failed(error) {
  told(error.message.endsWith(".") ? error.message : `${error.message}.`);
  wrong = true;
  byId("status").parentElement.classList.add("wrong");
  byId("progress").hidden = true;
  byId("again").hidden = false;
}

export function stalled(text) {
  byId("stalled").textContent = text;
  byId("again").hidden = !text && !wrong;
}

/** The bytes that came as a line, for `onprogress`. */
export function bytes(what) {
  return ({ loaded, total }) =>
    told(`${what}: ${(loaded / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`, total ? loaded / total : 0);
}
