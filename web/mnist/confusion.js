// @ts-check
/** Turns counts into a grid: a row for each digit, a column for what it is read as, the darker the more. */

/** counts: ten of each digit in turn, by what they are read as. */
export function confusion(table, counts) {
  const digits = [...Array(10).keys()], rows = digits.map((digit) => counts.slice(10 * digit, 10 * digit + 10));
  const head = line(cell("td", ""), ...digits.map((digit) => cell("th", digit, "col")));
  const body = rows.map((row, digit) => {
    const all = row.reduce((sum, count) => sum + count, 0);
    return line(cell("th", digit, "row"), ...row.map((count, read) => {
      const made = cell("td", count || "");
      made.className = read === digit ? "right" : "wrong";
      made.style.setProperty("--part", shade(count / all, read === digit));
      made.title = `${count} of ${all}: a ${digit} read as ${read}`;
      return made;
    }));
  });
  table.replaceChildren(head, ...body);
}

const DARKEST = { right: 0.7, wrong: 0.48 }; // shades on which the counts keep their contrast

/** The shade of a cell from 0 to 1. Mistakes are rare: few of them show, too. */
function shade(part, right) {
  return right ? DARKEST.right * part : part && Math.min(DARKEST.wrong, 0.1 + 1.6 * part);
}

function line(...cells) {
  const made = document.createElement("tr");
  made.append(...cells);
  return made;
}

function cell(kind, text, scope = "") {
  const made = document.createElement(kind);
  made.textContent = text;
  if (scope) made.scope = scope;
  return made;
}
