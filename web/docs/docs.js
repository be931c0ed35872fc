// @ts-check
/** Searches the documentation in the page: names of functions first, then the words of all sections. Copies code. */
import { rank } from "./rank.js";

const ROOT = new URL(document.body.dataset.root ?? "", document.baseURI);
const SHOWN = 12; // results
/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);
const input = byId("search"), list = byId("results");
let names, words, chosen = -1;

const read = async (name) => (await fetch(new URL(name, ROOT))).json();

/** The functions whose name begins with, or has, what is typed; the shortest first. */
function named(query) {
  const wanted = query.toLowerCase(), found = [];
  for (const [name, url, text] of names) {
    const lower = name.toLowerCase(), last = lower.slice(lower.lastIndexOf(".") + 1);
    const at = last === wanted ? 0 : last.startsWith(wanted) ? 1 : lower.includes(wanted) ? 2 : -1;
    if (at >= 0) found.push({ title: name, small: text, url, rank: at * 1000 + name.length });
  }
  return found.sort((a, b) => a.rank - b.rank).slice(0, SHOWN / 2);
}

/** The sections that have the words, or most of them. */
const inTexts = (query) => rank(query, words, SHOWN).map((place) => {
  const [page, title, url] = words.places[place];
  return { title, small: page === title ? "" : page, url };
});

function show(found) {
  list.replaceChildren(...found.map(({ title, small, url }, i) => {
    const link = document.createElement("a");
    link.id = `result-${i}`;
    link.setAttribute("role", "option");
    link.href = new URL(url, ROOT).href;
    link.textContent = title;
    link.tabIndex = -1;
    if (small) {
      const more = document.createElement("small");
      more.textContent = small;
      link.append(more);
    }
    return link;
  }));
  if (!found.length && input.value.trim()) {
    const none = document.createElement("p");
    none.textContent = "Nothing found: try one word of it";
    list.append(none);
  }
  list.hidden = !list.children.length;
  input.setAttribute("aria-expanded", String(!list.hidden));
  choose(found.length ? 0 : -1);
}

function choose(number) {
  chosen = number;
  [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === number)));
  input.setAttribute("aria-activedescendant", number < 0 ? "" : `result-${number}`);
  list.children[number]?.scrollIntoView({ block: "nearest" });
}

async function search() {
  const query = input.value.trim();
  if (!query) return show([]);
  [names, words] = await Promise.all([names ?? read("names.json"), words ?? read("words.json")]);
  if (query !== input.value.trim()) return; // more was typed meanwhile
  show([...named(query), ...inTexts(query)].slice(0, SHOWN));
}

input.addEventListener("input", search);
input.addEventListener("focus", () => input.value && search());
input.addEventListener("keydown", (e) => {
  const rows = list.querySelectorAll("a");
  if (e.key === "ArrowDown" || e.key === "ArrowUp") {
    e.preventDefault();
    if (rows.length) choose((chosen + (e.key === "ArrowDown" ? 1 : rows.length - 1)) % rows.length);
  } else if (e.key === "Escape") show([]);
});
input.form.addEventListener("submit", (e) => {
  e.preventDefault();
  list.querySelectorAll("a")[Math.max(chosen, 0)]?.click();
});
document.addEventListener("click", (e) => { if (!input.form.contains(/** @type {any} */ (e.target))) list.hidden = true; });
document.addEventListener("keydown", (e) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
  if (e.key === "/" && !typing) { e.preventDefault(); input.focus(); }
});

for (const block of document.querySelectorAll("article pre:not(.signature)")) {
  if (block.querySelector(".language-output")) continue;
  const button = document.createElement("button");
  button.className = "copy";
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code")?.textContent ?? "");
    button.textContent = "Copied";
  });
  block.append(button);
}
// on wide screens the list of pages is always open
const menu = /** @type {any} */ (document.querySelector(".menu")), wide = matchMedia("(min-width: 56.01rem)");
const fit = () => { menu.open = wide.matches; };
wide.addEventListener("change", fit);
fit();
document.querySelector('nav.pages [aria-current="page"]')?.scrollIntoView({ block: "nearest" });

// Browsers scroll a wide table or signature by keys only if it takes the focus.
function focusable() {
  for (const [i, box] of document.querySelectorAll(".table, pre.signature").entries())
    if (box.scrollWidth > box.clientWidth)
      Object.assign(box, { tabIndex: 0, role: "region", ariaLabel: `Wide ${box.matches("pre") ? "signature" : "table"} ${i + 1}` });
}
addEventListener("resize", focusable);
focusable();
