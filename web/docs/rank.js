// @ts-check
/** Ranks the sections that a search finds. It reads no page: a test runs it under Node.js. */

/**
 * The words of a query that count: no filler words, no bare numbers.
 * @param {string} query
 * @param {string[]} fillers
 */
function terms(query, fillers) {
  const typed = query.toLowerCase().match(/[a-z_][a-z_0-9]+|\d+[a-z]+/g) ?? [];
  const kept = typed.filter((word) => !fillers.includes(word));
  return kept.length ? kept : typed;
}

/**
 * The score of each place for one word: of the word, its plural or singular, its synonyms, and
 * of longer words if it is the last or unknown.
 * A rare word counts more than one that many places have.
 */
/** An entry of a table from JSON; "constructor" is an entry only if the table has it. */
const entry = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

function scoresOf(word, last, index) {
  const scores = new Map(), { words, synonyms, places } = index;
  const add = (key, factor) => {
    const postings = entry(words, key) ?? [], rare = Math.log(1 + (2 * places.length) / (postings.length + 1));
    for (let i = 0; i < postings.length; i += 2) {
      scores.set(postings[i], Math.max(scores.get(postings[i]) ?? 0, postings[i + 1] * factor * rare));
    }
  };
  add(word, 2);
  add(word.endsWith("s") ? word.slice(0, -1) : `${word}s`, 1.5);
  if (last || !entry(words, word)) for (const key of Object.keys(words)) if (key !== word && key.startsWith(word)) add(key, 1);
  for (const other of entry(synonyms, word) ?? []) add(other, 1.5);
  return scores;
}

/**
 * The numbers of the best places, best first: those that have the most words of a query, weighed by page.
 * @param {string} query
 * @param {any} index what words.json holds
 * @param {number} shown
 */
export function rank(query, index, shown) {
  const wanted = terms(query, index.fillers), sums = new Map();
  wanted.forEach((word, i) => {
    for (const [place, score] of scoresOf(word, i === wanted.length - 1, index)) {
      const sum = sums.get(place) ?? { score: 0, count: 0 };
      sums.set(place, { score: sum.score + score, count: sum.count + 1 });
    }
  });
  const weigh = ([place, { score, count }]) => [place, score * (count / wanted.length) ** 2 * index.places[place][3]];
  return [...sums].map(weigh).sort((a, b) => b[1] - a[1]).slice(0, shown).map(([place]) => place);
}
