// @ts-check
/**
 * Turns a conversation into a reply, token by token, with a decoder that save_decoder saved:
 *
 *   const writer = new Writer({ model, draw, tokenizer, facts });
 *   for await (const part of writer.reply(messages, { temperature: 0 })) show(part);
 *
 * `writer.last` has what the reply cost. What of a conversation is in the model's cache already is not computed again.
 */
import { render } from "./template.js";

const MOST = 512; // new tokens of a reply, by default

/** Why a reply cannot be written. */
export class WriterError extends Error {}

export class Writer {
  /** @param {{model: any, draw: any, tokenizer: import("./tokenizer.js").Tokenizer, facts: any}} parts */
  constructor({ model, draw, tokenizer, facts }) {
    this.model = model;
    this.draw = draw; // loads the program that draws tokens
    this.tokenizer = tokenizer;
    this.facts = facts;
    this.ends = new Set(facts.ends);
    /** @type {number[]} */
    this.cached = []; // the tokens in the model's cache
    this.drawing = null; // that program, once a token was drawn
    this.last = cost();
    this.stopped = this.busy = false;
  }

  /** The tokens of a conversation and of the beginning of a reply. */
  prompt(messages) {
    const [rows, guard] = this.tokenizer.protect(messages), { template, names } = this.facts;
    const text = render(template, { messages: rows, tools: null, documents: null, add_generation_prompt: true, ...names });
    return this.tokenizer.encode(text, { special: true, guard });
  }

  /** The tokens of a conversation, without its oldest turns where it is too long; those are removed from `messages`. */
  fitted(messages, most) {
    const { context } = this.facts, first = messages[0]?.role === "system" ? 1 : 0;
    for (;;) {
      const ids = this.prompt(messages), room = context - ids.length;
      if (room >= Math.min(most, context >> 2) || messages.length < first + 3) {
        if (room < 1) throw new WriterError(`The message is too long: ${ids.length} tokens, and the context has ${context}. Write a shorter one.`);
        return ids;
      }
      messages.splice(first, 2);
      this.last.dropped += 2;
    }
  }

  /**
   * The reply to a conversation in parts. messages: oldest turns are removed where it is too long.
   * @param {{role: string, content: string}[]} messages
   */
  async *reply(messages, { temperature = 0, top_k = 0, top_p = 1, most = MOST } = {}) {
    const last = (this.last = cost()), text = this.tokenizer.stream(), begun = performance.now();
    this.stopped = false;
    this.busy = true;
    try {
      const ids = this.fitted(messages, most), count = Math.min(most, this.facts.context - ids.length);
      last.prompt = ids.length;
      last.finish = "length";
      const options = temperature > 0 && {
        temperature: Float32Array.of(temperature), top_k: Int32Array.of(top_k), top_p: Float32Array.of(top_p),
      };
      let token = await this.feed(this.rest(ids), options);
      while (token !== null) {
        last.seconds = (performance.now() - begun) / 1e3;
        last.first ||= last.seconds;
        if (this.ends.has(token)) {
          last.finish = "stop";
          break;
        }
        last.ids.push(token);
        yield text.push(token);
        if (this.stopped || last.ids.length >= count) break;
        token = await this.feed([token], options);
      }
      if (this.stopped) last.finish = "cancel";
      yield text.end();
    } finally {
      this.busy = false;
    }
  }

  /** End the reply after its next token. */
  stop() {
    this.stopped = true;
  }

  /** What of a prompt is not in the cache, which is emptied if it has another text. */
  rest(ids) {
    const { cached } = this;
    if (cached.length < ids.length && cached.every((id, i) => id === ids[i])) return ids.slice(cached.length);
    this.reset();
    return ids;
  }

  reset() {
    this.model.reset();
    this.cached = [];
  }

  /** Append tokens in the lengths that the program takes; the token after them, null if the reply was stopped meanwhile. */
  async feed(ids, options) {
    for (let at = 0; at < ids.length; ) {
      const left = ids.length - at, n = this.model.batches.findLast((size) => size <= left);
      const tokens = Int32Array.from(ids.slice(at, at + n)), isLast = n === left;
      at += n;
      const run = this.model.run({ tokens }, isLast && options ? { output: "gpu", only: ["logits"] } : { only: isLast ? ["token"] : [] });
      this.cached.push(...tokens); // it is submitted in order, whatever comes
      const { token, logits } = await run.catch((error) => {
        this.cached = [NaN]; // of no text: the cache is emptied before the next one
        throw error;
      });
      if (isLast) return options ? this.drawn(logits, options) : token.data[0];
      if (this.stopped) return null;
    }
    return null;
  }

  async drawn(logits, options) {
    try {
      this.drawing ??= await this.draw();
      const { token } = await this.drawing.run({ logits, ...options });
      return token.data[0];
    } finally {
      logits.data.destroy();
    }
  }
}

/**
 * What a reply cost. dropped: messages that did not fit; first: seconds until the first token.
 * @returns {{ids: number[], prompt: number, finish: "stop" | "length" | "cancel", seconds: number, first: number, dropped: number}}
 */
function cost() {
  return { ids: [], prompt: 0, finish: "cancel", seconds: 0, first: 0, dropped: 0 };
}

/** Tokens a second, after the first one. */
export const speedOf = ({ ids, seconds, first }) => (ids.length > 1 ? (ids.length - 1) / Math.max(seconds - first, 1e-9) : 0);
