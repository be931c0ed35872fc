// @ts-check
/** Turns text into numbers of tokens by the vocabulary of demo.json, and those back into text. */

const START = ["[CLS]", "<s>", "<cls>"], END = ["[SEP]", "</s>", "<sep>"];
const UNKNOWN = ["[UNK]", "<unk>"], PADDING = ["[PAD]", "<pad>"];
const LONGEST = 100; // letters of a word that is split in pieces, as BERT's tokenizer has it

/**
 * @typedef {object} Encoder
 * @property {(text: string) => number[]} ids
 * @property {(ids: number[], most: number) => number[]} cut the ids that a model of `most` places sees
 * @property {(id: number) => string} word
 * @property {(id: number, before: string) => string} joined a token as it follows a text
 * @property {number} padding
 */

/**
 * @param {{by: string, vocabulary?: string[]}} facts
 * @returns {Encoder}
 */
export function encoder({ by, vocabulary = [] }) {
  const places = new Map(vocabulary.map((word, i) => [word, i]));
  const first = (names) => places.get(names.find((name) => places.has(name)));
  const padding = first(PADDING) ?? 0, unknown = first(UNKNOWN), word = (id) => vocabulary[id] ?? String(id);
  const known = (name) => {
    const id = places.get(name) ?? unknown;
    if (id === undefined) throw new Error(`The model has no token for ${JSON.stringify(name)}: enter other text.`);
    return id;
  };
  if (by === "ids") return { ids: numbers, cut: last, word, joined: (id, before) => (/[\s,]$|^$/.test(before) ? "" : ", ") + id, padding };
  if (by === "letters") return { ids: (text) => Array.from(text, known), cut: last, word, joined: word, padding };
  if (by === "words")
    return { ids: (text) => text.split(/\s+/).filter(Boolean).map(known), cut: last, word, joined: (id, before) => (/\s$|^$/.test(before) ? "" : " ") + word(id), padding };
  const [start, end] = [first(START), first(END)];
  const framed = (ids) => [...(start === undefined ? [] : [start]), ...ids, ...(end === undefined ? [] : [end])];
  const cased = vocabulary.some((word) => /^[A-Z][a-z]+$/.test(word));
  return {
    ids: (text) => framed(words(text, cased).flatMap((one) => pieces(one, places, known))),
    cut: (ids, most) => (ids.length > most && end !== undefined ? [...ids.slice(0, most - 1), end] : ids.slice(0, most)),
    word, joined: (id, before) => (word(id).startsWith("##") ? word(id).slice(2) : (before ? " " : "") + word(id)), padding,
  };
}

const last = (ids, most) => ids.slice(-most); // a language model continues the end

/** @param {string} text */
function numbers(text) {
  const parts = text.split(/[\s,;]+/).filter(Boolean), wrong = parts.find((part) => !/^\d+$/.test(part));
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not the number of a token.`);
  return parts.map(Number);
}

/** Words and signs, as BERT's tokenizer splits text: small letters without accents, unless the vocabulary has capitals. */
function words(text, cased) {
  const plain = cased ? text : text.toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "");
  return plain.match(/[\p{P}\p{S}]|\p{Script=Han}|[^\s\p{P}\p{S}\p{Script=Han}]+/gu) ?? [];
}

/** The pieces of a word, each the longest that the vocabulary has; all but the first begin with ##. */
function pieces(word, places, known) {
  const letters = Array.from(word), found = [];
  if (places.has(word)) return [places.get(word)];
  if (letters.length > LONGEST) return [known("")];
  for (let begin = 0; begin < letters.length;) {
    const name = (end) => (begin ? "##" : "") + letters.slice(begin, end).join("");
    let end = letters.length;
    while (end > begin && !places.has(name(end))) end--;
    if (end === begin) return [known(word)];
    found.push(places.get(name(end)));
    begin = end;
  }
  return found;
}
