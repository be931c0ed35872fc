// @ts-check
/**
 * Tells when nothing moves: `const watch = new Watch(tell)`, then `watch.moved("loading Python")` whenever something
 * does, and `watch.end()`. `tell` gets a sentence after PATIENCE seconds of silence, and "" when something moves after all.
 */
export const PATIENCE = 20;

export class Watch {
  constructor(tell) {
    this.tell = tell;
    this.said = false;
    this.moved("starting");
  }

  moved(what = this.what) {
    this.what = what;
    this.quiet();
    this.timer = setTimeout(() => {
      this.said = true;
      this.tell(`Nothing has happened for ${PATIENCE} seconds (${this.what}). The connection or this device may be slow, or`
        + " something is in the way: the page goes on as soon as it can; or try again.");
    }, 1000 * PATIENCE);
  }

  quiet() {
    clearTimeout(this.timer);
    if (this.said) this.tell("");
    this.said = false;
  }

  end() {
    this.quiet();
    this.moved = () => {};
  }
}
