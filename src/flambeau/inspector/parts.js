/** Shows where the time of a call went: a bar of its parts, which add up to it, and what the host did meanwhile. */

const PARTS = { // of CallRow.parts: their colors, and what they are
  kernels: ["contract", "the GPU ran kernels"], copies: ["map", "the GPU copied buffers"],
  gaps: ["leaf", "between two kernels of one submit"], host: ["reduce", "the GPU had nothing to do, the host worked"],
  queue: ["other", "on the way to the GPU and back"],
};
function barOf(call) {
  const sum = Object.values(call.parts).reduce((a, b) => a + b, 0) || 1e-12, there = Object.entries(PARTS).filter(([name]) => call.parts[name] > 0);
  const what = call.which === "first" ? "The first call" : call.count > 1 ? `The fastest of ${call.count} later calls` : "The second call";
  const how = call.is_looked_at ? "estimated, inspection overhead removed" : "not instrumented";
  const off = Math.abs(sum / call.seconds - 1) > 0.02 && `; the parts are ${percent(sum / call.seconds)} of it`;
  const alone = call.alone > 0 && `; each kernel timed by itself: ${time(call.alone)} in all`;
  const segments = there.map(([name, [tone, says]]) => el("i", { title: `${name}: ${time(call.parts[name])}, ${says}`, style: { flexGrow: call.parts[name] / sum, background: `var(--${tone})` } }));
  return el("div", { class: "parts" },
    el("div", {}, `${what}: `, el("b", {}, time(call.seconds)), el("span", { class: "soft" }, ` (${how}${off || ""}${alone || ""})`)),
    el("div", { class: "sum", role: "img", "aria-label": there.map(([name]) => `${name} ${percent(call.parts[name] / sum)}`).join(", ") }, segments),
    el("div", { class: "key" }, there.map(([name, [tone, says]]) => el("span", { title: says }, el("i", { style: { background: `var(--${tone})` } }), `${name} ${time(call.parts[name])}, ${percent(call.parts[name] / sum)}`))));
}
function stagesOf(call) {
  const rows = Object.entries(call.stages).filter(([, seconds]) => seconds > 0).sort(([, a], [, b]) => b - a);
  return rows.length && el("p", { class: "soft" }, "The host, in part while the GPU ran: ", rows.map(([name, seconds]) => `${name} ${time(seconds)}`).join(", "));
}
/** The last of the calls: of a program that is warm, if it was called again. */
function drawParts() { return D.calls.slice(-1).map(barOf); }
function drawAllParts() { return D.calls.flatMap((call) => [barOf(call), stagesOf(call)]); }
