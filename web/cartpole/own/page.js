// @ts-check
/** Turns folder.html, as index.html of a folder that the page of CartPole offers, into a page that balances by its policy. */
import { Drive } from "./drive.js";
import { load } from "./index.js";

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const fault = (error) => (byId("drive-told").textContent = error.message);
const drive = new Drive(byId("driving"), (steps) => (byId("balanced").textContent = `${(steps / 50).toFixed(1)} s`), fault);
byId("left").addEventListener("click", () => drive.push(-1));
byId("right").addEventListener("click", () => drive.push(1));
try {
  const program = await load();
  byId("drive-told").textContent = `on ${program.adapter}`;
  drive.use(program);
} catch (error) {
  fault(error);
}
