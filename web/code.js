// @ts-check
/** Turns the first page's lines of Python into what they come to: Python is loaded behind the page, or when they run. */
import { start } from "./client.js";
import { text } from "./fetched.js";
import { Watch } from "./watch.js";

const SPEED = `from time import perf_counter

a, b = fb.rand(1024, 1024), fb.rand(1024, 1024)
product = fb.jit(lambda a, b: a @ b)
await product(a, b)[0, 0].read()  # the first call compiles
calls, seconds = 1, 0
while seconds < 0.2:  # warm calls: as many as can be timed
    calls, begin = 2 * calls, perf_counter()
    for _ in range(calls):
        c = product(a, b)
    await c[0, 0].read()
    seconds = perf_counter() - begin
each = seconds / calls
print(f"{2 * 1024**3 / each / 1e9:.4g} GFLOP/s, {3 * 4 * 1024**2 / each / 1e9:.4g} GB/s")
print(f"1024 x 1024 product: {1e3 * each:.4g} ms")
print(f"mean of {calls} warm calls, on")
print(a.device)`;
const EXAMPLES = { // a button's name -> its lines
  Fusion: ["x = fb.linspace(-1, 1, 12).reshape(3, 4)", "y = (x @ x.T / 2).softmax(1)", "y"],
  Gradient: ["def f(x): return (x * x.sin()).sum()", "slope = fb.grad(f)", "slope(fb.linspace(-3, 3, 7))"],
  Network: ["net = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 3))",
    "x = fb.randn(1000, 64)", "net(x).softmax(1).mean(0)"],
  Speed: SPEED.split("\n"),
};
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);

export class Code {
  constructor(base) {
    this.base = base;
    this.python = null; // a promise of it
    this.busy = this.again = false;
    this.seen = new Set(); // sources that ran: what they need is compiled
    /** @type {(() => void) | null} */
    this.onstart = null;
    const choices = Object.entries(EXAMPLES).map(([name, lines]) => {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: name });
      button.addEventListener("click", () => this.choose(lines));
      return button;
    });
    byId("examples").append(...choices);
    byId("source").value = EXAMPLES.Fusion.join("\n");
    byId("code").addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    byId("source").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("code").requestSubmit();
    });
  }

  choose(lines) {
    byId("source").value = lines.join("\n");
    byId("source").rows = Math.min(Math.max(lines.length, 3), 16);
    this.run();
  }

  /** What happens now; `aloud` where it is no number that counts up. */
  say(said, aloud = true) {
    byId("code-status").textContent = said;
    if (aloud) byId("code-spoken").textContent = said;
  }

  /** Python, loaded once; after an error the next call tries anew. */
  load() {
    this.python ??= this.started().catch((error) => {
      this.python = null;
      this.say(`${error.message.replace(/\.$/, "")}.`);
      throw error;
    }).finally(() => (byId("code-progress").hidden = true));
    return this.python;
  }

  async started() {
    this.say("Python is on its way.");
    const watch = new Watch((said) => said && this.say(said));
    try {
      const source = text(new URL("home.py", this.base));
      source.catch(() => {}); // told below
      const python = await start({
        base: this.base, watch,
        onstatus: (said) => this.say(`${said[0].toUpperCase()}${said.slice(1)}.`),
        onprogress: ({ loaded, total }) => {
          Object.assign(byId("code-progress"), { hidden: false, value: loaded / total });
          this.say(`Python: ${(loaded / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`, false);
        },
        onbroken: (error) => {
          this.python = null;
          this.say(error.message);
        },
      });
      await python.install("home.py", await source);
      globalThis.flambeau = python; // for the console: await flambeau.run("import flambeau as fb; ...")
      this.say("Python is ready.");
      this.onstart?.();
      return python;
    } finally {
      watch.end();
    }
  }

  /** Run what stands there; what is pressed meanwhile runs after it. */
  async run() {
    if (this.busy) return void (this.again = true);
    this.busy = true;
    try {
      do {
        this.again = false;
        const python = await this.load(), source = byId("source").value;
        this.say("Running.");
        await this.show(source, python);
      } while (this.again);
    } catch {} // load has said it
    this.busy = false;
  }

  async show(source, python) {
    let made;
    try {
      made = await python.call("home.run", source);
    } catch (error) {
      made = { text: `${error.name}: ${error.message}`, kernels: [], wgsl: "", wrong: true };
    }
    byId("came").hidden = false;
    byId("came").classList.toggle("wrong", Boolean(made.wrong));
    byId("result").textContent = made.text || "It printed nothing, and its last line is no value.";
    byId("wgsl").textContent = made.wgsl;
    byId("shaders").hidden = !made.wgsl;
    byId("ran").textContent = made.wrong ? "" : this.told(made, source, python);
    this.say(made.wrong ? "That is an error." : "Done.");
  }

  told({ kernels, ms }, source, python) {
    const count = kernels.length, first = !this.seen.has(source);
    this.seen.add(source);
    const how = count ? `${count} kernel${count > 1 ? "s" : ""} (${kernels.join(", ")}) on ${python.adapter}, ` : "";
    return `${how}${ms.toFixed(1)} ms${count ? "" : " in all"}${first ? ", compiling included: run it again" : ""}`;
  }
}
