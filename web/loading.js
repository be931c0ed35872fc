// @ts-check
/**
 * A plain script, which runs where modules do not: it says why a page's modules cannot be had. They set
 * `document.documentElement.dataset.runs`. It needs #status, #progress and #again, stands behind them, and removes
 * #late, a sentence that style.css shows after a while where no script runs at all.
 */
"use strict";
(() => {
  /** @type {(id: string) => any} */
  const byId = (id) => document.getElementById(id);
  const runs = () => "runs" in document.documentElement.dataset;
  const say = (text) => {
    if (runs()) return;
    byId("status").textContent = text;
    byId("progress").hidden = true;
    byId("again").hidden = false;
  };
  byId("late").remove();
  byId("again").onclick = () => location.reload();
  if (location.protocol === "file:")
    return say("This page was opened as a file, and browsers load no modules from files. Serve its folder, as"
      + " `flambeau web serve FOLDER` does, and open that address.");
  const lacking = "The page's scripts cannot be had: check the connection and load the page again.";
  addEventListener("error", ({ target }) => target instanceof HTMLScriptElement && say(lacking), true);
  setTimeout(say, 20_000, "The page's scripts have not come for 20 seconds: the page goes on when they do; or try again.");
})();
