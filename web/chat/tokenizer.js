// @ts-check
/**
 * Texts to tokens and back, by the rules that src/flambeau/site/page_rules.py writes:
 *
 *   const tokenizer = new Tokenizer(rules);
 *   tokenizer.encode("Hello"); // [28120]; texts of special tokens are plain text
 *   tokenizer.decode([28120]);
 *
 * A text is a list of code points, as Python's is: lone surrogates become U+FFFD.
 */

const SPACES = new Set("\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000");
const BYTE = /^<0x([0-9A-Fa-f]{2})>$/, INNER = /^<0x[89AB][0-9A-F]>$/; // a token of a byte; of one within a character
const UNFINISHED = "\ufffd", HELD = 16; // how a text ends whose last character is not complete; tokens of one, at most
const FIRST_GUARD = 0xfdd0, LAST_GUARD = 0xfdef; // code points that never are characters
const CACHED = 1e5, CACHED_LENGTH = 64; // words that a model remembers, and their length at most
const PAIR = 2 ** 26; // tokens are fewer
const PENALTY = 10; // of an unknown character, below the lowest score

const encoder = new TextEncoder();
const bytesOf = (text) => encoder.encode(text);
const textOf = (bytes, fatal = false) => new TextDecoder("utf-8", { fatal, ignoreBOM: true }).decode(Uint8Array.from(bytes));
const characters = Array.from;

/** GPT-2's character for each byte: visible ones for themselves, others from U+0100 on. */
const BYTES = (() => {
  const isShown = (b) => (b >= 33 && b <= 126) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
  let next = 0x100;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(isShown(b) ? b : next++));
})();
const BYTE_OF = new Map(BYTES.map((c, b) => [c, b]));

const expression = (pattern) => new RegExp(pattern, "gu");
const escaped = (text) => text.replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&");

function stripped(text, left, right) {
  const all = characters(text);
  let from = 0, to = all.length;
  while (left && from < to && SPACES.has(all[from])) from++;
  while (right && to > from && SPACES.has(all[to - 1])) to--;
  return all.slice(from, to).join("");
}

/**
 * All of a text in order as [part, whether the pattern matches it].
 * @param {RegExp} pattern
 * @param {string} text
 * @returns {[string, boolean][]}
 */
function matches(pattern, text) {
  /** @type {[string, boolean][]} */
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    if (!found[0]) continue;
    if (at < found.index) parts.push([text.slice(at, found.index), false]);
    parts.push([found[0], true]);
    at = found.index + found[0].length;
  }
  if (at < text.length) parts.push([text.slice(at), false]);
  return parts;
}

// --- what is done to a text before it is split ---

/** SentencePiece's map of characters: a double-array trie of bytes, and the texts that replace its keys. */
class CharacterMap {
  constructor(encoded) {
    const blob = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0)), size = new DataView(blob.buffer).getUint32(0, true);
    this.units = new Uint32Array(blob.slice(4, 4 + size).buffer);
    this.texts = blob.subarray(4 + size);
    this.known = new Map();
  }

  place(key) {
    const { units } = this, offset = (unit) => ((unit >>> 10) << ((unit & 512) >>> 6)) >>> 0;
    if (!units.length) return -1;
    let node = offset(units[0]);
    for (const byte of key) {
      node = (node ^ byte) >>> 0;
      if (node >= units.length || (units[node] & 0x800000ff) >>> 0 !== byte) return -1;
      const isLeaf = (units[node] >>> 8) & 1;
      node = (node ^ offset(units[node])) >>> 0;
      if (isLeaf) return node < units.length ? units[node] & 0x7fffffff : -1;
    }
    return -1;
  }

  of(character) {
    let text = this.known.get(character);
    if (text !== undefined) return text;
    const at = this.place(bytesOf(character)), end = at < 0 ? -1 : this.texts.indexOf(0, at);
    text = end < 0 ? character : textOf(this.texts.subarray(at, end));
    this.known.set(character, text);
    return text;
  }
}

/** @type {Record<string, (step: any) => (text: string) => string>} */
const NORMALIZE = {
  form: ({ form }) => (text) => text.normalize(form),
  lower: () => (text) => characters(text, (c) => c.toLowerCase()).join(""), // one by one: a sigma at the end is as others
  replace: ({ pattern, text: by }) => {
    const compiled = expression(pattern);
    return (text) => text.replace(compiled, () => by);
  },
  prepend: ({ text: first }) => (text) => (text ? first + text : text),
  strip: ({ left, right }) => (text) => stripped(text, left, right),
  map: ({ map }) => {
    const found = new CharacterMap(map);
    return (text) => characters(text, (c) => found.of(c)).join("");
  },
};

// --- words ---

/** The pieces of a text, with matches as `behavior` keeps them. */
function joined(parts, behavior) {
  if (behavior === "Isolated") return parts.map(([text]) => text);
  if (behavior === "Removed") return parts.filter(([, isMatch]) => !isMatch).map(([text]) => text);
  const joins = {
    Contiguous: (was, is) => was === is,
    MergedWithPrevious: (was, is) => is && was === false,
    MergedWithNext: (was, is) => was === true && !is,
  }[behavior];
  const pieces = [];
  let was = null;
  for (const [text, isMatch] of parts) {
    if (pieces.length && joins(was, isMatch)) pieces[pieces.length - 1] += text;
    else pieces.push(text);
    was = isMatch;
  }
  return pieces;
}

/** @type {Record<string, (step: any) => (text: string, isFirst: boolean) => string[]>} */
const SPLIT = {
  space: () => (text) => [text.startsWith(" ") ? text : ` ${text}`],
  split: ({ pattern, behavior, inverts }) => {
    const compiled = expression(pattern);
    return (text) => joined(matches(compiled, text).map(([part, isMatch]) => [part, isMatch !== inverts]), behavior);
  },
  bytes: () => (text) => [Array.from(bytesOf(text), (b) => BYTES[b]).join("")],
  metaspace: ({ mark, scheme }) => (text, isFirst) => {
    const spaced = text.replaceAll(" ", mark), prepends = scheme === "always" || (scheme === "first" && isFirst);
    return [prepends && !spaced.startsWith(mark) ? mark + spaced : spaced];
  },
};

// --- tokens of a word ---

/** The smallest of entries [rank, place, ...] first. */
class Queue {
  constructor() {
    this.heap = [];
  }

  static before(a, b) {
    return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
  }

  push(entry) {
    const { heap } = this;
    let at = heap.push(entry) - 1;
    while (at) {
      const above = (at - 1) >> 1;
      if (!Queue.before(entry, heap[above])) break;
      heap[at] = heap[above];
      at = above;
    }
    heap[at] = entry;
  }

  pop() {
    const { heap } = this, first = heap[0], last = heap.pop(), count = heap.length;
    if (!count) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below + 1 < count && Queue.before(heap[below + 1], heap[below])) below++;
      if (below >= count || !Queue.before(heap[below], last)) break;
      heap[at] = heap[below];
      at = below;
    }
    heap[at] = last;
    return first;
  }
}

/** Byte pairs: the pair of neighbours with the lowest rank is joined first. */
class Pairs {
  constructor(model, vocabulary, texts, hidden) {
    Object.assign(this, { vocabulary, texts, hidden });
    this.model = model;
    this.known = new Map();
    /** @type {Map<number, [number, number]>} */
    this.ranks = new Map();
    const { merges = [] } = model;
    for (let i = 0; i < merges.length; i += 3) this.ranks.set(merges[i] * PAIR + merges[i + 1], [i, merges[i + 2]]);
  }

  /** @returns {[number, number] | undefined} rank and token of a pair that is joined */
  rank(a, b) {
    const { scores } = this.model, { vocabulary, texts, hidden } = /** @type {any} */ (this);
    if (!scores) return this.ranks.get(a * PAIR + b);
    const token = vocabulary.get(texts[a] + texts[b]);
    return token === undefined || hidden.has(token) ? undefined : [-scores[token], token];
  }

  of(word) {
    const known = this.known.get(word), { vocabulary, hidden } = /** @type {any} */ (this);
    if (known) return known;
    const whole = this.model.whole ? vocabulary.get(word) : undefined;
    if (whole !== undefined && !hidden.has(whole)) return [whole];
    const tokens = this.join(this.characters(word));
    if (word.length > CACHED_LENGTH) return tokens;
    if (this.known.size >= CACHED) this.known.clear();
    this.known.set(word, tokens);
    return tokens;
  }

  characters(word) {
    const { prefix, suffix, bytes, unknown, fuses } = this.model, { vocabulary, hidden } = /** @type {any} */ (this);
    const tokens = [], all = characters(word);
    all.forEach((c, i) => {
      const text = (i ? prefix : "") + c + (i === all.length - 1 ? suffix : ""), token = vocabulary.get(text);
      if (token !== undefined && !hidden.has(token)) tokens.push(token);
      else if (bytes) tokens.push(...Array.from(bytesOf(text), (b) => bytes[b]));
      else if (unknown !== null && !(fuses && tokens.at(-1) === unknown)) tokens.push(unknown);
    });
    return tokens;
  }

  join(tokens) {
    const count = tokens.length, queue = new Queue();
    const after = tokens.map((_, i) => i + 1), before = tokens.map((_, i) => i - 1); // the neighbours that are still there
    const offer = (at, next) => {
      const pair = this.rank(tokens[at], tokens[next]);
      if (pair) queue.push([pair[0], at, tokens[at], tokens[next], pair[1]]);
    };
    for (let at = 0; at + 1 < count; at++) offer(at, at + 1);
    while (queue.heap.length) {
      const [, at, left, right, whole] = queue.pop(), other = after[at];
      if (tokens[at] !== left || other >= count || tokens[other] !== right) continue; // one of them was joined since
      tokens[at] = whole;
      tokens[other] = -1;
      after[at] = after[other];
      if (after[at] < count) before[after[at]] = at;
      for (const first of [before[at], at]) if (first >= 0 && after[first] < count) offer(first, after[first]);
    }
    return tokens.filter((token) => token >= 0);
  }
}

/** Unigrams: the tokens of a word with the largest sum of scores. */
class Unigram {
  constructor(model, _, texts, hidden) {
    this.model = model;
    this.vocabulary = new Map();
    this.begins = new Set(); // of tokens: where none fits, longer ones are not tried
    model.scores.forEach((_, id) => {
      if (texts[id] === null || hidden.has(id)) return;
      const all = characters(texts[id]);
      this.vocabulary.set(texts[id], id);
      all.forEach((_, i) => this.begins.add(all.slice(0, i + 1).join("")));
    });
    this.penalty = (model.scores.length ? model.scores.reduce((a, b) => Math.min(a, b)) : 0) - PENALTY;
  }

  of(word) {
    const all = characters(word), { scores } = this.model;
    // the best way to each place: score, where its last token begins, and that token; -1 for an unknown character
    const best = all.map(() => [-Infinity, -1, -1]);
    best.unshift([0, 0, -1]);
    all.forEach((_, at) => {
      const [here] = best[at];
      let text = "", hasSingle = false;
      for (let end = at + 1; end <= all.length; end++) {
        text += all[end - 1];
        if (!this.begins.has(text)) break;
        const token = this.vocabulary.get(text);
        if (token === undefined) continue;
        hasSingle ||= end === at + 1;
        const score = here + scores[token];
        if (best[end][1] < 0 || score > best[end][0]) best[end] = [score, at, token];
      }
      const score = here + this.penalty;
      if (!hasSingle && (best[at + 1][1] < 0 || score > best[at + 1][0])) best[at + 1] = [score, at, -1];
    });
    const parts = [];
    for (let end = all.length; end > 0; end = best[end][1]) {
      const [, at, token] = best[end], last = parts.at(-1);
      if (token < 0 && last && last.token < 0) last.at = at; // unknown neighbours are one
      else parts.push({ at, end, token });
    }
    return parts.reverse().flatMap(({ at, end, token }) => (token >= 0 ? [token] : this.unknown(all.slice(at, end).join(""))));
  }

  unknown(text) {
    const { bytes, unknown } = this.model;
    if (bytes) return Array.from(bytesOf(text), (b) => bytes[b]);
    if (unknown === null) throw new Error(`${text.slice(0, 20)}: is in no token, and the tokenizer has none for unknown texts`);
    return [unknown];
  }
}

const MODELS = { pairs: Pairs, unigram: Unigram };

// --- texts of tokens ---

/** @type {Record<string, (step: any) => (texts: string[]) => string[]>} */
const JOIN = {
  bytes: () => (texts) => {
    const all = texts.flatMap((text) => {
      const bytes = Array.from(text, (c) => BYTE_OF.get(c)); // a token that was added has a text of its own
      return bytes.includes(undefined) ? Array.from(bytesOf(text)) : bytes;
    });
    return [textOf(all)];
  },
  fallback: () => (texts) => {
    const out = [];
    for (let i = 0; i < texts.length; i++) {
      if (!BYTE.test(texts[i])) {
        out.push(texts[i]);
        continue;
      }
      const bytes = [];
      for (; i < texts.length && BYTE.test(texts[i]); i++) bytes.push(parseInt(texts[i].slice(3, 5), 16));
      i--;
      try {
        out.push(textOf(bytes, true));
      } catch {
        out.push(...bytes.map(() => UNFINISHED));
      }
    }
    return out;
  },
  fuse: () => (texts) => [texts.join("")],
  metaspace: ({ mark, scheme }) => (texts) => {
    const spaced = texts.map((text) => text.replaceAll(mark, " "));
    if (scheme !== "never" && spaced[0]?.startsWith(" ")) spaced[0] = spaced[0].slice(1);
    return spaced;
  },
  replace: (step) => {
    const change = NORMALIZE.replace(step);
    return (texts) => texts.map(change);
  },
  spaces: () => (texts) => [texts.join(" ")],
  strip: ({ text: part, start, stop }) => (texts) => texts.map((text) => {
    for (let i = 0; i < start && text.startsWith(part); i++) text = text.slice(part.length);
    for (let i = 0; i < stop && part && text.endsWith(part); i++) text = text.slice(0, -part.length);
    return text;
  }),
  suffix: ({ suffix }) => (texts) => texts.map((text, i) => text.replaceAll(suffix, i < texts.length - 1 ? " " : "")),
};

// --- tokens that are found in a text before words are ---

/** The added tokens of a text: the leftmost, and of those the longest. */
class Matcher {
  constructor(added) {
    this.byText = new Map(added.map((one) => [one.text, one]));
    const longestFirst = [...this.byText.keys()].sort((a, b) => characters(b).length - characters(a).length);
    this.pattern = longestFirst.length ? expression(longestFirst.map(escaped).join("|")) : null;
  }

  /**
   * [text between, null] and ["", token's number] in order.
   * @returns {[string, number | null][]}
   */
  of(text) {
    if (!this.pattern) return text ? [[text, null]] : [];
    /** @type {[string, number | null][]} */
    const out = [];
    const parts = matches(this.pattern, text);
    let strips = false; // whether the token before removes spaces
    parts.forEach(([part, isToken], i) => {
      const added = isToken && this.byText.get(part);
      if (added) {
        out.push(["", added.id]);
        strips = added.rstrip;
        return;
      }
      const next = i + 1 < parts.length && this.byText.get(parts[i + 1][0]);
      const kept = stripped(part, strips, Boolean(next && next.lstrip));
      strips = false;
      if (kept) out.push([kept, null]);
    });
    return out;
  }
}

export class Tokenizer {
  /** @param {any} rules */
  constructor(rules) {
    const { tokens, aliases, added, model } = rules;
    this.texts = tokens;
    this.special = new Set(added.filter(({ special }) => special).map(({ id }) => id));
    this.specialTexts = added.filter(({ special }) => special).map(({ text }) => text);
    const vocabulary = new Map();
    tokens.forEach((text, id) => text !== null && vocabulary.set(text, id));
    for (const [text, id] of Object.entries(aliases)) vocabulary.set(text, id);
    this.model = new MODELS[model.kind](model, vocabulary, tokens, this.special);
    this.normalizers = rules.normalize.map((step) => NORMALIZE[step.kind](step));
    this.splitters = rules.split.map((step) => SPLIT[step.kind](step));
    this.joiners = rules.join.map((step) => JOIN[step.kind](step));
    const matcher = (allows, normalized) =>
      new Matcher(added.filter((one) => (allows || !one.special) && one.normalized === normalized));
    this.matchers = [false, true].map((allows) => [matcher(allows, false), matcher(allows, true)]);
    this.before = rules.before;
    this.after = rules.after;
  }

  /**
   * The tokens of a text. special: texts of special tokens become these; ends: begin and end with the tokens that the
   * model expects there; guard: a character to drop, see `protect`.
   */
  encode(text, { special = false, ends = false, guard = "" } = {}) {
    const [raw, normalized] = this.matchers[Number(special)], tokens = [];
    for (const [part, id] of raw.of(text.toWellFormed?.() ?? text)) {
      if (id !== null) tokens.push(id);
      else
        for (const [inner, found] of normalized.of(this.normalizers.reduce((changed, step) => step(changed), part)))
          if (found !== null) tokens.push(found);
          else for (const token of this.words(guard ? inner.replaceAll(guard, "") : inner, !tokens.length)) tokens.push(token);
    }
    return ends ? [...this.before, ...tokens, ...this.after] : tokens;
  }

  words(text, isFirst) {
    let pieces = [{ text, isFirst }];
    for (const step of this.splitters)
      pieces = pieces.flatMap((piece) => step(piece.text, piece.isFirst).map((part, i) => ({ text: part, isFirst: piece.isFirst && i === 0 })));
    return pieces.flatMap((piece) => (piece.text ? this.model.of(piece.text) : []));
  }

  /** The text of tokens. */
  decode(ids, { skips = true } = {}) {
    const texts = ids.filter((id) => !(skips && this.special.has(id))).map((id) => {
      if (typeof this.texts[id] !== "string") throw new Error(`${id} is no token: there are ${this.texts.length}, from 0 on`);
      return this.texts[id];
    });
    return texts.length ? this.joiners.reduce((changed, step) => step(changed), texts).join("") : "";
  }

  /**
   * Messages without special tokens in their texts: each gets a guard character after its first one, which `encode`
   * drops.
   * @returns {[{role: string, content: string}[], string]}
   */
  protect(messages) {
    const longestFirst = this.specialTexts.toSorted((a, b) => characters(b).length - characters(a).length);
    if (!longestFirst.length) return [messages, ""];
    const all = messages.map(({ content }) => content).join("");
    let code = FIRST_GUARD;
    while (code < LAST_GUARD && all.includes(String.fromCodePoint(code))) code++;
    const guard = String.fromCodePoint(code), pattern = expression(longestFirst.map(escaped).join("|"));
    const guarded = (text) => text.replace(pattern, (found) => {
      const [first, ...rest] = characters(found);
      return first + guard + rest.join("");
    });
    return [messages.map((message) => ({ ...message, content: guarded(message.content) })), guard];
  }

  stream() {
    return new TextStream(this);
  }
}

/** Decodes tokens one by one; a character with bytes in several tokens comes with the last one. */
class TextStream {
  constructor(tokenizer) {
    this.tokenizer = tokenizer;
    this.ids = []; // the last tokens, on which the text of the next one depends
    this.shown = ""; // the text of `ids` that was returned
  }

  /** The text that a token completes, "" if none. */
  push(id) {
    if (this.tokenizer.special.has(id)) return "";
    this.ids.push(id);
    const text = this.text();
    return text.endsWith(UNFINISHED) && this.ids.length <= HELD ? "" : this.take(text);
  }

  /** The rest of the text, whose last character may be incomplete. */
  end() {
    return this.take(this.text());
  }

  text() {
    return this.tokenizer.decode(this.ids, { skips: false });
  }

  take(text) {
    const fresh = text.slice(this.shown.length);
    let at = Math.max(this.ids.length - 1, 0);
    while (at > 0 && INNER.test(this.tokenizer.texts[this.ids[at]])) at--;
    this.ids = this.ids.slice(at);
    this.shown = this.text();
    return fresh;
  }
}
