// @ts-check
/** Shows the inspection that the page around this frame sends as {inspection: "packed"}, when it is asked by "ready". */
let shown = false;

addEventListener("message", async ({ data, origin, source }) => {
  if (shown || origin !== location.origin || source !== parent || typeof data?.inspection !== "string") return;
  shown = true;
  const holder = document.createElement("div"); // Trusted Types forbid setting the text of a script element
  Object.assign(holder, { id: "data", hidden: true, textContent: data.inspection });
  document.getElementById("data")?.replaceWith(holder);
  await import(new URL("page.js", import.meta.url).href);
});
if (parent !== self) parent.postMessage("ready", location.origin);
else {
  const link = Object.assign(document.createElement("a"), { href: "../playground/", textContent: "Playground" });
  document.getElementById("target")?.replaceChildren("Kernels");
  document.querySelector("#view p")?.replaceChildren("This page shows a run of the ", link, " or of the book, inside their pages.");
}
