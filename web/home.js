/** Turns index.html into a page that starts Python and shows what it computes. */
import { start } from "./client.js";
import { begun, bytes, failed, ready, stalled, told } from "./state.js";
import { Watch } from "./watch.js";

begun();
const watch = new Watch(stalled);
try {
  const python = await start({ onprogress: bytes("loading Python"), onstatus: told, onbroken: failed, watch });
  document.getElementById("result").textContent = await python.run(`
import flambeau as fb
x = fb.arange(6).reshape(2, 3).float()
y = (x @ x.T).exp().log()
text = f"{y.plan()}\\n\\n{(await y.read()).tolist()}"
text
`);
  ready(`ready on ${python.adapter}`);
} catch (error) {
  failed(error);
} finally {
  watch.end();
}
