import type { Millis } from "@holdfast/core";
import type { Spread } from "./statistics.js";

/** One line of Markdown for each row, padded as the formatter of this repository has it. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = titles.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(" | ")} |`;
  const rule = widths.map((width, at) => (at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(titles), line(rule), ...rows.map(line)].join("\n");
}

/** `1,130 (1,100-1,210)`; only the median if all rounds agree. */
export function spreadText(values: Spread | null, scale = 1): string {
  if (values === null) return "-";
  const [median, least, most] = [values.median, values.least, values.most].map((value) =>
    numberText(value * scale),
  );
  return least === most ? (median as string) : `${median} (${least}-${most})`;
}

/** A whole number from 100 on, else three significant digits, because ratios range from thousandths to hundreds. */
export function numberText(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 100)
    return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
  return value.toLocaleString("en-US", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
}

/** `about 12 min`, `about 40 s`. */
export function durationText(ms: Millis): string {
  return ms < 90_000 ? `about ${Math.ceil(ms / 1_000)} s` : `about ${Math.round(ms / 60_000)} min`;
}
