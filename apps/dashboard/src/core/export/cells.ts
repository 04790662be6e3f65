import { visible } from "@holdfast/collectors/internal";

/** One value of a row. A list is one cell. */
export type Cell = string | number | boolean | null | readonly string[];

/** What spreadsheets take for the beginning of a formula (OWASP, "CSV injection"), also in full-width characters. */
const formula = /^\s*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
/** In languages where a semicolon separates cells, a formula may begin after one. */
const laterFormula = /(;\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
const between = " | ";

/** One line of a CSV file by RFC 4180, its end included. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number" || typeof cell === "boolean") return String(cell);
  return quoted(typeof cell === "string" ? harmless(cell) : cell.map(harmless).join(between));
}

/** The text with nothing hidden in it, and such that no spreadsheet computes it. */
function harmless(text: string): string {
  const shown = visible(text).replace(laterFormula, "$1'");
  return formula.test(text) ? `'${shown}` : shown;
}

function quoted(text: string): string {
  return /[",;\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * JSON without hidden characters: those that `visible` writes out become JSON escapes, so that a parser reads the
 * original text.
 */
export function visibleJson(value: unknown): string {
  const json = JSON.stringify(value);
  return /^[ -~]*$/.test(json) ? json : json.replace(hidden, escaped);
}

/** The characters that `visible` writes out. */
const hidden = /[\p{C}\p{DI}\u2800]|(?! )\p{White_Space}/gu;

function escaped(char: string): string {
  return Array.from(
    { length: char.length },
    (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
}
