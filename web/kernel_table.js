// @ts-check
/** Shows kernels as a table that its heads sort: the inspector's table, which the page of digits has too. */
import { el } from "./wgsl.js";

/**
 * A kernel: speed in bytes a second, rate in operations a second; share and bound are parts of 1.
 * @typedef {{id: number, name: string, title?: string, seconds: number, share: number, speed: number, rate: number,
 *   bound?: number, layer?: string, line?: string, template?: string}} KernelRow
 */
/** @typedef {{sort: string, down: boolean}} Order */
/** @typedef {Order & {columns: string[], now: number, plain?: boolean, onsort: (name: string) => void, onopen: (id: number) => void}} Options */

/** @param {number} value */
const giga = (value) => (value && value < 1e6 ? "< 0.001" : (value / 1e9).toPrecision(3));
/** @param {number} part */
const percent = (part) => `${(100 * part).toFixed(part < 0.0995 ? 1 : 0)}%`;
/** @param {number} seconds */
const shortTime = (seconds) => {
  if (!seconds) return "0 s";
  if (seconds >= 1) return `${seconds.toPrecision(3)} s`;
  return seconds >= 1e-3 ? `${(seconds * 1e3).toPrecision(3)} ms` : `${(seconds * 1e6).toPrecision(3)} µs`;
};
/**
 * A long name that may be broken behind its dots and pluses, and nowhere else.
 * @param {string} name
 */
const breakable = (name) => name.split(/(?<=[.+])/).flatMap((part, n) => (n ? [el("wbr"), part] : [part]));

// A column: its head, its classes (n: a number; less, least: left out where a screen is narrow), and its cell.
/** @type {Record<string, [string, string, (row: KernelRow, name: (text: string) => any) => any]>} */
const COLUMNS = {
  id: ["#", "n", (row) => row.id],
  name: ["Kernel", "wide", (row, name) => el("button", { type: "button", class: "link", title: row.title ?? row.name }, name(row.name))],
  seconds: ["Time", "n", (row) => shortTime(row.seconds)],
  share: ["Share", "line less", (row) => [el("span", { class: "share", style: { width: `${4 * row.share}rem` } }), " ", percent(row.share)]],
  speed: ["GB/s", "n less", (row) => giga(row.speed)],
  rate: ["GFLOP/s", "n less", (row) => giga(row.rate)],
  bound: ["of bound", "n less", (row) => (row.bound ? percent(row.bound) : "")],
  layer: ["Layer", "wide", (row, name) => [name(row.layer ?? ""), row.line && el("span", { class: "below soft" }, row.line)].flat()],
  line: ["Line", "line least", (row) => row.line],
  template: ["Template", "wide less", (row) => row.template],
};
const LARGEST_FIRST = ["seconds", "share", "speed", "rate", "bound"];

/**
 * Rows in the order of a column.
 * @param {KernelRow[]} rows
 * @param {Order} order
 */
export function sortRows(rows, { sort, down }) {
  const by = (/** @type {KernelRow} */ row) => row[/** @type {"id"} */ (sort)] ?? "";
  return [...rows].sort((a, b) => {
    const [x, y] = [by(a), by(b)];
    return x < y === y < x ? a.id - b.id : (x < y ? -1 : 1) * (down ? -1 : 1);
  });
}

/**
 * The order after a click on a column's head.
 * @param {Order} order
 * @param {string} name
 */
export const nextOrder = ({ sort, down }, name) => ({ sort: name, down: sort === name ? !down : LARGEST_FIRST.includes(name) });

/**
 * A table of rows that are sorted already. plain: names without places to break, for thousands of rows.
 * @param {KernelRow[]} rows
 * @param {Options} options
 */
export function kernelTable(rows, { columns, sort, down, now, plain, onsort, onopen }) {
  const named = plain ? (/** @type {string} */ name) => name : breakable;
  const heads = columns.map((column) => {
    const [text, classes] = COLUMNS[column], isSorted = column === sort;
    const order = isSorted ? (down ? "descending" : "ascending") : null;
    const label = `${text}${isSorted ? (down ? " ▾" : " ▴") : ""}`;
    return el("th", { class: classes, scope: "col", "aria-sort": order }, el("button", { type: "button", onclick: () => onsort(column) }, label));
  });
  const body = rows.map((row) => el("tr", { class: `pick ${row.id === now ? "now" : ""}`, "data-kernel": row.id, onclick: () => onopen(row.id) },
    columns.map((column) => el("td", { class: COLUMNS[column][1] }, COLUMNS[column][2](row, named)))));
  return el("table", { class: "kernels" }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, body));
}
