// @ts-check
/** Turns an output of demo.json into an element that shows it: bars, a picture, a map of classes, the next token, numbers. */

const BEST = 5, FIRST = 100; // bars; numbers that are shown
const SUM = 0.02; // how far probabilities' sum may be from 1
const STEPS = 40; // tokens that "Continue" adds
const COLOURS = 12;

/**
 * @typedef {object} Output
 * @property {HTMLElement} element
 * @property {(result: {data: number[], shape: number[]}) => string} show returns what is read aloud
 */

/**
 * @param {any} facts
 * @param {import("./inputs.js").Input} [tokens] the input of text
 * @param {boolean} [several] whether there are more outputs: each has its name then
 * @returns {Output}
 */
export function outputOf(facts, tokens, several = false) {
  const body = element("div"), parts = several ? [element("h2", { textContent: facts.name }), body] : [body];
  const show = KINDS[facts.kind](facts, body, tokens);
  return { element: element("div", { className: `output ${facts.kind}` }, ...parts), show };
}

/** @returns {any} */
function element(kind, fields = {}, ...children) {
  const made = Object.assign(document.createElement(kind), fields);
  made.append(...children);
  return made;
}

const shortened = (value) => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(5))));
const isShares = (data) => data.every((v) => v >= -1e-4 && v <= 1.0001) && Math.abs(data.reduce((a, b) => a + b, 0) - 1) < SUM;
const most = (data) => data.reduce((best, v, i) => (v > data[best] ? i : best), 0);

function softmax(data) {
  const top = data[most(data)], powers = data.map((v) => Math.exp(v - top)), sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((v) => v / sum);
}

/** A token as it is listed: in quotes where its spaces would not be seen. */
const shownWord = (word) => (/^\S+$/.test(word) ? word : JSON.stringify(word));

/** The best names as bars. */
function bars(names, shares) {
  const best = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, BEST);
  return element("ol", { className: "bars" }, ...best.map((at) => {
    const share = `${(100 * shares[at]).toFixed(1)} %`, fill = element("span", { className: "fill" });
    fill.style.width = share.replace(" ", "");
    const line = element("div", { className: "name" }, element("span", { textContent: names(at) }), element("span", { className: "part", textContent: share }));
    return element("li", {}, line, element("div", { className: "track" }, fill));
  }));
}

function classes({ labels, softmax: certain }, body) {
  const names = (at) => labels?.[at] ?? `class ${at}`;
  return ({ data, shape }) => {
    const shares = isShares(data) ? data : certain ? softmax(data) : null;
    if (!shares) return numbers({}, body)({ data, shape });
    body.replaceChildren(bars(names, shares));
    return `${names(most(shares))}, ${Math.round(100 * Math.max(...shares))} percent`;
  };
}

function label({ labels }, body) {
  return ({ data }) => {
    const name = labels[data[0]] ?? `class ${data[0]}`;
    body.replaceChildren(element("p", { className: "answer", textContent: name }));
    return name;
  };
}

/** The numbers of a result: one of them large, else a list with the range. */
function numbers(_, body) {
  return ({ data, shape }) => {
    if (data.length === 1) {
      body.replaceChildren(element("p", { className: "answer", textContent: shortened(data[0]) }));
      return shortened(data[0]);
    }
    const range = data.length ? `, from ${shortened(data.reduce((a, b) => Math.min(a, b)))} to ${shortened(data.reduce((a, b) => Math.max(a, b)))}` : "";
    const list = data.slice(0, FIRST).map(shortened).join(", ") + (data.length > FIRST ? ", …" : "");
    body.replaceChildren(element("p", { className: "facts", textContent: `${shape.join(" × ")}${range}` }), element("p", { className: "list", textContent: list }));
    return `${data.length} numbers`;
  };
}

/** A picture; numbers of 0 to 1 or -1 to 1 keep their scale, others are spread from the least to the largest. */
function picture({ channels, high, wide, first, dtype }, body) {
  const canvas = element("canvas", { width: wide, height: high, className: "shown" }), context = canvas.getContext("2d");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "The picture that the model returns");
  body.append(canvas);
  return ({ data }) => {
    const low = data.reduce((a, b) => Math.min(a, b)), top = data.reduce((a, b) => Math.max(a, b));
    const [from, to] = dtype === "u8" ? [0, 255] : low >= -0.01 && top <= 1.01 ? [0, 1] : low >= -1.01 && top <= 1.01 ? [-1, 1] : [low, top];
    const pixels = context.createImageData(wide, high), count = wide * high, by = 255 / (to - from || 1);
    for (let at = 0; at < count; at++)
      for (let c = 0; c < 4; c++) {
        const place = channels === 1 ? 0 : c;
        const value = place < channels ? (data[first ? place * count + at : at * channels + place] - from) * by : 255;
        pixels.data[4 * at + c] = c === 3 && channels < 4 ? 255 : value;
      }
    context.putImageData(pixels, 0, 0);
    return "The model has returned a picture";
  };
}

/** The best class of each pixel as a colour, and the share of each class below it. */
function map({ labels, shape }, body) {
  const [wide, high] = [shape.at(-1), shape.at(-2)], canvas = element("canvas", { width: wide, height: high, className: "shown" });
  const context = canvas.getContext("2d"), legend = element("ul", { className: "legend" }), colour = (i) => `hsl(${(360 * i) / Math.min(labels.length, COLOURS)} 65% ${i < COLOURS ? 50 : 30}%)`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "The best class of each pixel");
  body.append(canvas, legend);
  return ({ data }) => {
    const count = wide * high, counts = Array(labels.length).fill(0);
    for (let at = 0; at < count; at++) {
      let best = 0;
      for (let c = 1; c < labels.length; c++) if (data[c * count + at] > data[best * count + at]) best = c;
      counts[best]++;
      context.fillStyle = colour(best);
      context.fillRect(at % wide, Math.floor(at / wide), 1, 1);
    }
    const seen = [...counts.keys()].filter((i) => counts[i]).sort((a, b) => counts[b] - counts[a]);
    legend.replaceChildren(...seen.map((i) => {
      const square = element("span", { className: "square" });
      square.style.background = colour(i);
      return element("li", {}, square, `${labels[i]}: ${((100 * counts[i]) / count).toFixed(1)} %`);
    }));
    return `mostly ${labels[seen[0]]}`;
  };
}

/** The tokens that a language model expects next, and a button that adds the best, again and again. */
function next({ count }, body, tokens) {
  const home = element("div"), button = element("button", { type: "button", textContent: "Continue", disabled: true });
  let left = 0;
  body.append(element("p", { className: "facts", textContent: "The next token:" }), home, button);
  button.addEventListener("click", () => {
    left = left ? 0 : STEPS;
    button.textContent = left ? "Stop" : "Continue";
    if (left) tokens.append(best);
  });
  let best = 0;
  return ({ data }) => {
    button.disabled = false;
    const last = tokens.count() - 1, shares = softmax(data.slice(last * count, (last + 1) * count));
    best = most(shares);
    home.replaceChildren(bars((id) => shownWord(tokens.word(id)), shares));
    if (left && --left) setTimeout(() => left && tokens.append(best));
    else button.textContent = "Continue";
    return `next ${tokens.word(best)}`;
  };
}

const KINDS = { classes, label, numbers, picture, map, next };
