// @ts-check
/** Shows WGSL: its lines highlighted and numbered, to be copied. The digits page and the inspector's are built on it. */

/**
 * An element: attributes, listeners (on...), children. Text goes in as text, never as HTML.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any> | null} [given]
 * @param {...any} children nodes and texts, in lists as well; nothing where one is null or false
 */
export function el(tag, given, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(made.style, value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return made;
}

const COMMENT = "\\/\\/[^\\n]*", ATTRIBUTE = "@\\w+", NUMBER = "\\b\\d[\\w.]*";
const WORD = "\\b(?:fn|let|var|const|struct|return|if|else|for|while|loop|break|continue|switch|case|default|enable|override|alias)\\b";
const TYPE = "\\b(?:(?:vec|mat)\\d\\w*|array|atomic|f32|f16|u32|i32|bool|ptr|storage|uniform|workgroup|read_write|read)\\b";
const TOKEN = new RegExp(`(${COMMENT})|(${ATTRIBUTE}|${WORD})|(${TYPE})|(${NUMBER})`, "g");
const CLASSES = ["c", "k", "t", "d"]; // of TOKEN's groups

/**
 * A line of WGSL as pieces of text and of elements that have a color.
 * @param {string} line
 */
export function highlighted(line) {
  const parts = [];
  let done = 0;
  for (const found of line.matchAll(TOKEN)) {
    parts.push(line.slice(done, found.index), el("span", { class: CLASSES[found.slice(1).findIndex(Boolean)] }, found[0]));
    done = found.index + found[0].length;
  }
  return [...parts, line.slice(done)];
}

/**
 * A text of WGSL whose lines have numbers, which are no part of it.
 * @param {string} wgsl
 * @param {string} label
 */
export function listing(wgsl, label) {
  const lines = wgsl.replace(/\n$/, "").split("\n").flatMap((line) => [el("span", { class: "line" }, highlighted(line)), "\n"]);
  return el("pre", { class: "wgsl", tabindex: "0", "aria-label": label }, lines);
}

/**
 * A button that copies a text, and says so; where the page may not, `shown` is selected.
 * @param {string} text
 * @param {() => Node} [shown]
 */
export function copier(text, shown) {
  const copy = async (e) => {
    const button = e.currentTarget;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      if (shown) getSelection().selectAllChildren(shown());
      button.textContent = shown ? "Selected: copy it by hand" : "Copy it by hand: the page may not";
    }
  };
  return el("button", { type: "button", onclick: copy }, "Copy");
}
