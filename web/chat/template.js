// @ts-check
/**
 * Renders a conversation by a model's chat template, which src/flambeau/site/page_template.py made a tree of:
 * `render(tree, {messages, add_generation_prompt, ...})`. Values are those of Python: a dict is a Map, a list an Array,
 * None null and an undefined name undefined; numbers are whole. TemplateError says what a template refuses.
 */

const STEPS = 1e6, LENGTH = 8 << 20; // turns of loops and calls; characters of a text
// what Python's str.strip removes
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
const BREAK = Symbol("break"), CONTINUE = Symbol("continue");

export class TemplateError extends Error {}

/** @type {(text: string) => never} */
function fail(text) {
  throw new TemplateError(text);
}

/**
 * The text of a conversation.
 * @param {any[]} tree
 * @param {Record<string, any>} names JSON values by name: messages, bos_token, ...
 */
export function render(tree, names) {
  const scope = new Scope(null);
  for (const [name, value] of Object.entries(names)) scope.values.set(name, plain(value));
  const run = new Run();
  run.body(tree, scope);
  return run.text();
}

/** JSON as values of a template. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value && typeof value === "object") return new Map(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
  return value;
}

class Scope {
  /** @param {Scope | null} outer */
  constructor(outer) {
    this.outer = outer;
    this.values = new Map();
  }

  get(name) {
    for (let scope = /** @type {Scope | null} */ (this); scope; scope = scope.outer)
      if (scope.values.has(name)) return scope.values.get(name);
  }
}

/** What `namespace()` returns: attributes that inner scopes may set. */
class Namespace {
  constructor(values) {
    this.values = values;
  }
}

/** The variable `loop`. */
class Loop {
  constructor(items, at) {
    this.items = items;
    this.at = at;
  }

  get(name) {
    const { items, at } = this, count = items.length;
    return {
      first: at === 0, last: at === count - 1, index: at + 1, index0: at, length: count, revindex: count - at,
      revindex0: count - at - 1, previtem: items[at - 1], nextitem: items[at + 1],
    }[name];
  }
}

/** A list that is written in round brackets. */
class Tuple extends Array {}

class Macro {
  constructor(names, defaults, body, scope) {
    this.names = names;
    this.defaults = defaults;
    this.body = body;
    this.scope = scope; // where it was defined
  }
}

// --- values ---

const isList = Array.isArray;
const isDict = (value) => value instanceof Map;
const isText = (value) => typeof value === "string";
const isNumber = (value) => typeof value === "number";

function kindOf(value) {
  if (value === undefined) return "undefined";
  if (value === null) return "None";
  return isText(value) ? "str" : isNumber(value) ? "int" : isList(value) ? "list" : isDict(value) ? "dict" : typeof value;
}

function truth(value) {
  if (isList(value)) return value.length > 0;
  return isDict(value) ? value.size > 0 : Boolean(value);
}

const asNumber = (value) => (typeof value === "boolean" ? Number(value) : value);

function same(a, b) {
  if (isList(a) && isList(b)) return a.length === b.length && a.every((value, i) => same(value, b[i]));
  if (isDict(a) && isDict(b)) return a.size === b.size && [...a].every(([key, value]) => b.has(key) && same(value, b.get(key)));
  return asNumber(a) === asNumber(b);
}

function ordered(a, b) {
  const [left, right] = [asNumber(a), asNumber(b)];
  if (isText(left) && isText(right)) return left < right ? -1 : Number(left > right);
  if (isNumber(left) && isNumber(right)) return left - right;
  fail(`'<' not supported between ${kindOf(a)} and ${kindOf(b)}`);
}

const tuple = (items) => Object.setPrototypeOf([...items], Tuple.prototype);
const pairs = (dict) => Array.from(dict, tuple);

/** The items of what a loop, a filter or `in` goes through. */
function itemsOf(value) {
  if (value === undefined) return [];
  if (isList(value)) return value;
  if (isText(value)) return Array.from(value);
  if (isDict(value)) return [...value.keys()];
  fail(`${kindOf(value)} is not iterable`);
}

function contains(all, value) {
  if (isText(all)) return isText(value) ? all.includes(value) : fail(`'in <string>' requires a text, not ${kindOf(value)}`);
  return isDict(all) ? all.has(value) : itemsOf(all).some((item) => same(item, value));
}

const ESCAPES = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A value as Python's repr writes it. */
function shown(value) {
  if (isText(value)) {
    const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
    const inner = value.replace(/[\\\n\r\t]/g, (c) => ESCAPES[c]).replaceAll(quote, (c) => `\\${c}`);
    return `${quote}${inner}${quote}`;
  }
  if (value instanceof Tuple) return `(${Array.from(value, shown).join(", ")}${value.length === 1 ? "," : ""})`;
  if (isList(value)) return `[${value.map(shown).join(", ")}]`;
  if (isDict(value)) return `{${[...value].map(([key, inner]) => `${shown(key)}: ${shown(inner)}`).join(", ")}}`;
  return textOf(value);
}

function textOf(value) {
  if (isText(value)) return value;
  if (value === undefined) return "";
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (isNumber(value)) return String(value);
  return isList(value) || isDict(value) ? shown(value) : fail(`a ${value.constructor.name} has no text`);
}

/** A value as Python's json.dumps writes it. */
function json(value, indent, depth = 0) {
  const step = isNumber(indent) ? " ".repeat(indent) : indent;
  if (!isList(value) && !isDict(value)) return value === undefined ? fail("Undefined is not JSON serializable") : JSON.stringify(value);
  const [open, close] = isList(value) ? "[]" : "{}";
  const parts = isList(value)
    ? value.map((inner) => json(inner, indent, depth + 1))
    : [...value].map(([key, inner]) => `${JSON.stringify(isText(key) ? key : textOf(key))}: ${json(inner, indent, depth + 1)}`);
  if (!parts.length) return open + close;
  if (step === undefined || step === null) return open + parts.join(", ") + close;
  const line = `\n${step.repeat(depth + 1)}`;
  return `${open}${line}${parts.join(`,${line}`)}\n${step.repeat(depth)}${close}`;
}

function sliced(value, start, stop, step) {
  const items = itemsOf(value), count = items.length, by = step ?? 1, out = [];
  if (by === 0) fail("slice step cannot be zero");
  const place = (at, absent, least, most) => (at == null ? absent : Math.min(Math.max(at < 0 ? at + count : at, least), most));
  if (by > 0) for (let i = place(start, 0, 0, count), end = place(stop, count, 0, count); i < end; i += by) out.push(items[i]);
  else for (let i = place(start, count - 1, -1, count - 1), end = place(stop, -1, -1, count - 1); i > end; i += by) out.push(items[i]);
  return isText(value) ? out.join("") : out;
}

function item(value, key) {
  if (value === undefined) fail("an undefined value has no items");
  if (value instanceof Loop) return value.get(key);
  if (value instanceof Namespace || isDict(value)) return (isDict(value) ? value : value.values).get(key);
  if (!isNumber(key) || !(isList(value) || isText(value))) return undefined;
  const items = itemsOf(value);
  return items[key < 0 ? key + items.length : key];
}

function attribute(value, name) {
  if (value === undefined) fail(`an undefined value has no attribute '${name}'`);
  return item(value, name);
}

// --- texts ---

function stripped(text, characters, left, right) {
  const all = Array.from(text), set = characters == null ? null : new Set(itemsOf(characters));
  const goes = (c) => (set ? set.has(c) : SPACE.test(c));
  let from = 0, to = all.length;
  while (left && from < to && goes(all[from])) from++;
  while (right && to > from && goes(all[to - 1])) to--;
  return all.slice(from, to).join("");
}

function split(text, separator, most) {
  const limit = most == null || most < 0 ? Infinity : most;
  if (separator === "") fail("empty separator");
  if (separator == null) {
    const words = [];
    let rest = stripped(text, null, true, false);
    while (rest && words.length < limit) {
      const at = rest.search(SPACE);
      words.push(at < 0 ? rest : rest.slice(0, at));
      rest = at < 0 ? "" : stripped(rest.slice(at), null, true, false);
    }
    return rest ? [...words, rest] : words;
  }
  const parts = text.split(separator);
  return parts.length <= limit + 1 ? parts : [...parts.slice(0, limit), parts.slice(limit).join(separator)];
}

function replaced(text, from, to, count) {
  if (count == null || count < 0) return text.replaceAll(from, () => to);
  if (from === "") fail("replace of an empty text with a count");
  const parts = text.split(from), kept = parts.slice(0, count + 1);
  return [kept.join(to), ...parts.slice(count + 1)].join(from);
}

const capitalized = (text) => {
  const [first = "", ...rest] = Array.from(text);
  return first.toUpperCase() + rest.join("").toLowerCase();
};

/** Python's str.title: letters after what is no letter are upper case. */
const titled = (text) => text.toLowerCase().replace(/\p{L}+/gu, capitalized);

const starts = (texts, test) => (isList(texts) ? texts : [texts]).some(test);

/** @type {Record<string, (text: string, ...args: any[]) => any>} */
const TEXT_METHODS = {
  capitalize: capitalized,
  endswith: (text, ends) => starts(ends, (end) => text.endsWith(end)),
  find: (text, part) => {
    const at = text.indexOf(part);
    return at < 0 ? -1 : Array.from(text.slice(0, at)).length;
  },
  join: (text, parts) => itemsOf(parts).map((part) => (isText(part) ? part : fail("join: an item is no text"))).join(text),
  lower: (text) => text.toLowerCase(),
  lstrip: (text, characters) => stripped(text, characters, true, false),
  removeprefix: (text, part) => (text.startsWith(part) ? text.slice(part.length) : text),
  removesuffix: (text, part) => (part && text.endsWith(part) ? text.slice(0, -part.length) : text),
  replace: replaced,
  rstrip: (text, characters) => stripped(text, characters, false, true),
  split,
  startswith: (text, begins) => starts(begins, (begin) => text.startsWith(begin)),
  strip: (text, characters) => stripped(text, characters, true, true),
  title: titled,
  upper: (text) => text.toUpperCase(),
};
/** @type {Record<string, (dict: Map<any, any>, ...args: any[]) => any>} */
const DICT_METHODS = {
  get: (dict, key, absent = null) => (dict.has(key) ? dict.get(key) : absent),
  items: (dict) => pairs(dict),
  keys: (dict) => [...dict.keys()],
  values: (dict) => [...dict.values()],
};

function method(value, name, args) {
  if (value === undefined) fail(`an undefined value has no attribute '${name}'`);
  const found = isText(value) ? TEXT_METHODS[name] : isDict(value) ? DICT_METHODS[name] : undefined;
  if (!found) fail(`${kindOf(value)} has no method '${name}'`);
  return found(value, ...args);
}

// --- tests and filters ---

const number = (value) => (isNumber(asNumber(value)) ? asNumber(value) : fail(`${kindOf(value)} is no number`));
/** @type {Record<string, (value: any, ...args: any[]) => boolean>} */
const TESTS = {
  boolean: (value) => typeof value === "boolean",
  defined: (value) => value !== undefined,
  divisibleby: (value, by) => number(value) % by === 0,
  even: (value) => number(value) % 2 === 0,
  false: (value) => value === false,
  in: (value, all) => contains(all, value),
  integer: isNumber,
  iterable: (value) => value === undefined || isText(value) || isList(value) || isDict(value),
  lower: (value) => textOf(value) !== textOf(value).toUpperCase() && textOf(value) === textOf(value).toLowerCase(),
  mapping: isDict,
  none: (value) => value === null,
  number: (value) => isNumber(asNumber(value)),
  odd: (value) => Math.abs(number(value) % 2) === 1,
  sequence: (value) => value === undefined || isText(value) || isList(value) || isDict(value),
  string: isText,
  true: (value) => value === true,
  undefined: (value) => value === undefined,
  upper: (value) => textOf(value) !== textOf(value).toLowerCase() && textOf(value) === textOf(value).toUpperCase(),
};
const ORDERS = {
  "==": same, eq: same, equalto: same,
  "!=": (a, b) => !same(a, b), ne: (a, b) => !same(a, b),
  "<": (a, b) => ordered(a, b) < 0, lt: (a, b) => ordered(a, b) < 0, lessthan: (a, b) => ordered(a, b) < 0,
  "<=": (a, b) => ordered(a, b) <= 0, le: (a, b) => ordered(a, b) <= 0, lteq: (a, b) => ordered(a, b) <= 0,
  ">": (a, b) => ordered(a, b) > 0, gt: (a, b) => ordered(a, b) > 0, greaterthan: (a, b) => ordered(a, b) > 0,
  ">=": (a, b) => ordered(a, b) >= 0, ge: (a, b) => ordered(a, b) >= 0, gteq: (a, b) => ordered(a, b) >= 0,
};
Object.assign(TESTS, ORDERS);
const COMPARES = { ...ORDERS, in: (a, b) => contains(b, a), notin: (a, b) => !contains(b, a) };

/** An item's attribute by a path such as "function.name". */
const pathed = (value, path) =>
  isNumber(path) ? item(value, path) : String(path).split(".").reduce((inner, name) => attribute(inner, /^\d+$/.test(name) ? Number(name) : name), value);

/** The items that a test picks, of themselves or of an attribute. */
function picked(value, args, byAttribute, wanted) {
  const [path, name, ...rest] = byAttribute ? args : [null, ...args];
  return itemsOf(value).filter((one) => {
    const inner = byAttribute ? pathed(one, path) : one;
    return (name === undefined ? truth(inner) : TESTS[name](inner, ...rest)) === wanted;
  });
}

const absent = (value, otherwise = "", boolean = false) => (value === undefined || (boolean && !truth(value)) ? otherwise : value);
const length = (value) => (isDict(value) ? value.size : itemsOf(value).length);
/** The names of arguments that filters and functions take by name, in order. */
const NAMES = {
  d: ["default_value", "boolean"], default: ["default_value", "boolean"], indent: ["width", "first", "blank"],
  join: ["d", "attribute"], replace: ["old", "new", "count"], tojson: ["ensure_ascii", "indent"], trim: ["chars"],
  unique: ["case_sensitive", "attribute"], int: ["default", "base"], split: ["sep", "maxsplit"],
};
/** @type {Record<string, (value: any, ...args: any[]) => any>} */
const FILTERS = {
  abs: (value) => Math.abs(number(value)),
  capitalize: (value) => capitalized(textOf(value)),
  count: length,
  d: absent,
  default: absent,
  first: (value) => itemsOf(value)[0],
  indent: (value, width = 4, first = false, blank = false) => {
    const space = isText(width) ? width : " ".repeat(width), lines = textOf(value).split("\n");
    return lines.map((line, i) => (i === 0 ? first : blank || line) ? space + line : line).join("\n");
  },
  int: (value, otherwise = 0) => {
    if (typeof value !== "string") return isNumber(asNumber(value)) ? asNumber(value) : otherwise;
    return /^\s*[+-]?\d+\s*$/.test(value) ? Number(value) : otherwise;
  },
  items: (value) => (value === undefined ? [] : isDict(value) ? pairs(value) : fail("items: takes a dict")),
  join: (value, separator = "", path) =>
    itemsOf(value).map((one) => textOf(path === undefined ? one : pathed(one, path))).join(separator),
  last: (value) => itemsOf(value).at(-1),
  length,
  list: (value) => [...itemsOf(value)],
  lower: (value) => textOf(value).toLowerCase(),
  reject: (value, ...args) => picked(value, args, false, false),
  rejectattr: (value, ...args) => picked(value, args, true, false),
  replace: (value, from, to, count) => replaced(textOf(value), textOf(from), textOf(to), count),
  reverse: (value) => (isText(value) ? Array.from(value).reverse().join("") : [...itemsOf(value)].reverse()),
  safe: (value) => value,
  select: (value, ...args) => picked(value, args, false, true),
  selectattr: (value, ...args) => picked(value, args, true, true),
  string: textOf,
  title: (value) => textOf(value).split(/([-\s({[<]+)/).map(capitalized).join(""),
  tojson: (value, _, indent) => json(value, indent),
  trim: (value, characters) => stripped(textOf(value), characters, true, true),
  unique: (value) => itemsOf(value).filter((one, i, all) => all.findIndex((other) => same(folded(other), folded(one))) === i),
  upper: (value) => textOf(value).toUpperCase(),
};
const folded = (value) => (isText(value) ? value.toLowerCase() : value);

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
  "November", "December"];

/** The present time as Python's strftime writes it in the C locale. */
function now(form, date = new Date()) {
  const two = (value) => String(value).padStart(2, "0"), day = DAYS[date.getDay()], month = MONTHS[date.getMonth()];
  const begin = new Date(date.getFullYear(), 0, 1, 12), noon = new Date(date.getFullYear(), date.getMonth(), date.getDate(), 12);
  const letters = {
    a: day.slice(0, 3), A: day, b: month.slice(0, 3), B: month, d: two(date.getDate()), H: two(date.getHours()),
    I: two(date.getHours() % 12 || 12), j: String(Math.round((+noon - +begin) / 864e5) + 1).padStart(3, "0"),
    m: two(date.getMonth() + 1), M: two(date.getMinutes()), p: date.getHours() < 12 ? "AM" : "PM", S: two(date.getSeconds()),
    y: two(date.getFullYear() % 100), Y: date.getFullYear(), "%": "%",
  };
  return form.replace(/%(.)/g, (_, letter) => letters[letter]);
}

function range(...args) {
  const [start, stop, step] = args.length === 1 ? [0, args[0], 1] : [args[0], args[1], args[2] ?? 1], out = [];
  if (step === 0 || [start, stop, step].some((n) => !Number.isInteger(n))) fail("range: takes whole numbers, and a step other than 0");
  if ((stop - start) / step > STEPS) fail(`a range of more than ${STEPS} numbers`);
  for (let i = start; step > 0 ? i < stop : i > stop; i += step) out.push(i);
  return out;
}

const dictOf = (given, names) => new Map([...(given ?? []), ...Object.entries(names)]);
/** @type {Record<string, (args: any[], names: Record<string, any>) => any>} */
const FUNCTIONS = {
  dict: ([given], names) => dictOf(given, names),
  namespace: ([given], names) => new Namespace(dictOf(given, names)),
  raise_exception: ([text]) => fail(textOf(text)),
  range: (args) => range(...args),
  strftime_now: ([form]) => now(form),
};
const OPERATORS = {
  "+": (a, b) => {
    if ((isText(a) && isText(b)) || (isNumber(asNumber(a)) && isNumber(asNumber(b)))) return isText(a) ? a + b : asNumber(a) + asNumber(b);
    return isList(a) && isList(b) ? [...a, ...b] : fail(`unsupported operands for +: ${kindOf(a)} and ${kindOf(b)}`);
  },
  "-": (a, b) => number(a) - number(b),
  "*": (a, b) => {
    const [one, other] = isNumber(asNumber(a)) ? [b, asNumber(a)] : [a, asNumber(b)];
    if (isText(one)) return one.length * other > LENGTH ? fail("a text that is too long") : one.repeat(Math.max(0, other));
    if (isList(one)) return range(Math.max(0, other)).flatMap(() => one);
    return number(one) * number(other);
  },
  "//": (a, b) => (number(b) === 0 ? fail("division by zero") : Math.floor(number(a) / number(b))),
  "%": (a, b) => (number(b) === 0 ? fail("division by zero") : number(a) - number(b) * Math.floor(number(a) / number(b))),
};

/** One rendering: its text so far, and the steps that it took. */
class Run {
  constructor() {
    this.parts = [];
    this.size = this.steps = 0;
  }

  step() {
    if (++this.steps > STEPS) fail(`the template takes more than ${STEPS} steps`);
  }

  write(text) {
    this.size += text.length;
    if (this.size > LENGTH) fail(`a text of more than ${LENGTH} characters`);
    this.parts.push(text);
  }

  text() {
    return this.parts.join("");
  }

  /** Run statements; the signal of `break` or `continue`, if one of them was met. */
  body(statements, scope) {
    for (const statement of statements) {
      const signal = this.statement(statement, scope);
      if (signal) return signal;
    }
  }

  /** What statements write, as a text of its own. */
  captured(statements, scope) {
    const before = this.parts;
    this.parts = [];
    this.body(statements, scope);
    const text = this.text();
    this.parts = before;
    return text;
  }

  statement([kind, ...rest], scope) {
    this.step();
    switch (kind) {
      case "out": return void this.write(textOf(this.value(rest[0], scope)));
      case "set": return void this.assign(rest[0], this.value(rest[1], scope), scope);
      case "block": return void this.assign(rest[0], this.captured(rest[1], scope), scope);
      case "if": {
        const [rows, otherwise] = rest, row = rows.find(([test]) => truth(this.value(test, scope)));
        return this.body(row ? row[1] : otherwise, scope);
      }
      case "for": return this.loop(rest, scope);
      case "macro": return void scope.values.set(rest[0], new Macro(rest[1], rest[2], rest[3], scope));
      case "with": {
        const inner = new Scope(scope), [targets, values, body] = rest;
        targets.forEach((target, i) => this.assign(target, this.value(values[i], scope), inner));
        return this.body(body, inner);
      }
      case "break": return BREAK;
      case "continue": return CONTINUE;
      default: return fail(`an unknown statement: ${kind}`);
    }
  }

  assign([kind, name, attributeName], value, scope) {
    if (kind === "name") scope.values.set(name, value);
    else if (kind === "attribute") {
      const space = scope.get(name);
      if (!(space instanceof Namespace)) fail(`'${name}' is no namespace`);
      space.values.set(attributeName, value);
    } else {
      const values = itemsOf(value);
      if (values.length !== name.length) fail(`${values.length} values for ${name.length} names`);
      name.forEach((target, i) => this.assign(target, values[i], scope));
    }
  }

  loop(parts, scope) {
    const [target, all, test, body, otherwise] = parts;
    const passes = (one) => {
      const inner = new Scope(scope);
      this.assign(target, one, inner);
      return truth(this.value(test, inner));
    };
    const every = itemsOf(this.value(all, scope)), items = test ? every.filter(passes) : every;
    for (const [at, one] of items.entries()) {
      this.step();
      const inner = new Scope(scope);
      inner.values.set("loop", new Loop(items, at));
      this.assign(target, one, inner);
      if (this.body(body, inner) === BREAK) break;
    }
    if (!items.length) return this.body(otherwise, new Scope(scope));
  }

  values(all, scope) {
    return all.map((one) => this.value(one, scope));
  }

  /** The arguments of a call by position; those that came by name are put in their places. */
  arguments(name, args, named, scope) {
    const out = this.values(args, scope);
    for (const [key, value] of Object.entries(named)) {
      const place = NAMES[name]?.indexOf(key) ?? -1;
      if (place < 0) fail(`${name}: no argument '${key}'`);
      out[place] = this.value(value, scope);
    }
    return out;
  }

  call(name, args, named, scope) {
    this.step();
    const macro = scope.get(name);
    if (!(macro instanceof Macro)) fail(`'${name}' is undefined`);
    const { names, defaults, body, scope: outer } = macro, inner = new Scope(outer), values = this.values(args, scope);
    names.forEach((key, i) => {
      const place = i - (names.length - defaults.length);
      const value = i < values.length ? values[i] : key in named ? this.value(named[key], scope)
        : place >= 0 ? this.value(defaults[place], inner) : undefined;
      inner.values.set(key, value);
    });
    return this.captured(body, inner);
  }

  filter(name, of, args, named, scope) {
    const value = this.value(of, scope);
    if (name !== "map") return FILTERS[name](value, ...this.arguments(name, args, named, scope));
    if (named.attribute) {
      const path = this.value(named.attribute, scope), otherwise = named.default && this.value(named.default, scope);
      return itemsOf(value).map((one) => pathed(one, path) ?? otherwise);
    }
    const [inner, ...rest] = this.values(args, scope);
    return itemsOf(value).map((one) => FILTERS[inner](one, ...rest));
  }

  value(tree, scope) {
    if (!tree) return undefined;
    const [kind, ...rest] = tree;
    switch (kind) {
      case "const": return rest[0];
      case "name": return scope.get(rest[0]);
      case "attr": return attribute(this.value(rest[0], scope), rest[1]);
      case "item": return item(this.value(rest[0], scope), this.value(rest[1], scope));
      case "slice": return sliced(...this.values(rest, scope));
      case "list": return this.values(rest[0], scope);
      case "tuple": return tuple(this.values(rest[0], scope));
      case "dict": return new Map(rest[0].map((pair) => this.values(pair, scope)));
      case "concat": return this.values(rest[0], scope).map(textOf).join("");
      case "not": return !truth(this.value(rest[0], scope));
      case "negative": return -number(this.value(rest[0], scope));
      case "if": return this.value(rest[truth(this.value(rest[0], scope)) ? 1 : 2], scope);
      case "op": return this.operator(rest, scope);
      case "compare": return this.compare(rest, scope);
      case "test": return TESTS[rest[0]](this.value(rest[1], scope), ...this.values(rest[2], scope));
      case "filter": return this.filter(rest[0], rest[1], rest[2], rest[3], scope);
      case "method": return method(this.value(rest[0], scope), rest[1], this.arguments(rest[1], rest[2], rest[3], scope));
      case "function": return FUNCTIONS[rest[0]](this.values(rest[1], scope),
        Object.fromEntries(Object.entries(rest[2]).map(([key, inner]) => [key, this.value(inner, scope)])));
      case "call": return this.call(rest[0], rest[1], rest[2], scope);
      default: return fail(`an unknown expression: ${kind}`);
    }
  }

  operator([name, left, right], scope) {
    const first = this.value(left, scope);
    if (name === "and") return truth(first) ? this.value(right, scope) : first;
    if (name === "or") return truth(first) ? first : this.value(right, scope);
    return OPERATORS[name](first, this.value(right, scope));
  }

  compare([first, others], scope) {
    let left = this.value(first, scope);
    return others.every(([name, tree]) => {
      const right = this.value(tree, scope), holds = COMPARES[name](left, right);
      left = right;
      return holds;
    });
  }
}
