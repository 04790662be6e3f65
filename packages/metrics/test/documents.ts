import { readFileSync, writeFileSync } from "node:fs";
import { type Catalogue, catalogueTable } from "../src/index.js";
import { labelTable } from "../src/internal.js";

/**
 * The text of a document, and the same text with its tables made anew from the catalogue. `HOLDFAST_WRITE_DOCS=1` writes the
 * second text to the file.
 */
export function documentOf(file: URL, catalogue: Catalogue): { is: string; shouldBe: string } {
  const is = readFileSync(file, "utf8");
  const tables = { catalogue: catalogueTable(catalogue), labels: labelTable(catalogue) };
  let shouldBe = is;
  for (const [mark, table] of Object.entries(tables)) {
    const between = new RegExp(`(<!-- ${mark} -->\n)[\\s\\S]*?(<!-- /${mark} -->)`);
    if (!between.test(is)) throw new Error(`${file.pathname} has no place for the table "${mark}"`);
    shouldBe = shouldBe.replace(between, (_, begin, end) => `${begin}${table}\n${end}`);
  }
  if (process.env.HOLDFAST_WRITE_DOCS === "1") {
    writeFileSync(file, shouldBe);
    return { is: shouldBe, shouldBe };
  }
  return { is: unaligned(is), shouldBe: unaligned(shouldBe) };
}

/** Undoes the formatter's alignment of tables. */
function unaligned(text: string): string {
  return text.replace(/^\|.*\|$/gm, (row) => row.replace(/ +/g, " ").replace(/ ?-{3,} ?/g, "---"));
}
