// @ts-check
/**
 * Balances a pole by an exported program, a step each 20 ms: the program has the environment and the policy, this file
 * keeps the state between its calls. src/flambeau/site/cartpole.py has the program.
 */
import { drawCart } from "./scene.js";

const ROWS = 19, SEEN = 6, ENDED = 15; // of a state: all, where the observation is, where `terminated` and `truncated` are
const SECONDS = 0.02; // of a step of CartPole
const PUSH = 0.6; // metres a second of the cart

export class Drive {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {(steps: number) => void} onstep how many steps the pole has been up
   * @param {(error: Error) => void} onfault why it balances no more
   */
  constructor(canvas, onstep, onfault) {
    this.canvas = canvas;
    this.onstep = onstep;
    this.onfault = onfault;
    /** @type {any} an opened program, or null */
    this.program = null;
    this.steps = this.pushed = this.next = 0;
    this.busy = this.waits = false; // for a step; for the next frame
    this.rows = first();
    this.draw();
  }

  /** Balance by this program from a new state; the other one is disposed of. */
  use(program) {
    if (!this.busy) this.program?.dispose(); // else once its step is done
    this.program = program;
    this.rows = first();
    this.steps = 0;
    requestAnimationFrame((now) => this.frame(now));
  }

  /** @param {number} way -1 for left, 1 for right */
  push(way) { this.pushed += way * PUSH; }

  draw() { drawCart(this.canvas, this.rows[0], this.rows[2]); }

  /** At most one call is under way; a step is due every 20 ms, and none is made up for. */
  async frame(now) {
    if (this.program && !this.busy && now >= this.next) {
      this.next = Math.max(now, this.next + 1000 * SECONDS);
      this.busy = true;
      const program = this.program;
      await this.step(program).catch((error) => this.fail(program, error));
      this.busy = false;
      if (program !== this.program) program.dispose();
    }
    if (this.program && !this.waits) {
      this.waits = true;
      requestAnimationFrame((then) => {
        this.waits = false;
        this.frame(then);
      });
    }
  }

  /** The program cannot be run any more; if it is still the one that balances, say so. */
  fail(program, error) {
    if (program !== this.program) return;
    this.program = null;
    this.onfault(error);
  }

  async step(program) {
    const rows = this.rows;
    rows[1] += this.pushed;
    rows[SEEN + 1] += this.pushed;
    this.pushed = 0;
    const random = Float32Array.from({ length: 4 }, Math.random);
    const { data } = await program.run({ rows: { data: rows, shape: [ROWS, 1] }, random: { data: random, shape: [4, 1] } });
    if (program !== this.program) return; // another was chosen meanwhile
    this.rows = data;
    this.steps = data[ENDED] || data[ENDED + 1] ? 0 : this.steps + 1;
    this.draw();
    this.onstep(this.steps);
  }
}

/** A first state: four numbers from -0.05 to 0.05, and their observation. */
function first() {
  const rows = new Float32Array(ROWS);
  for (let i = 0; i < 4; i++) rows[i] = rows[SEEN + i] = 0.1 * Math.random() - 0.05;
  return rows;
}
