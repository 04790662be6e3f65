import { mostExported } from "../../contract/export.js";
import { Turns } from "../turns.js";
import { csvLine, visibleJson } from "./cells.js";
import type { Exported } from "./lists.js";

export type ExportFormat = "csv" | "json";

const sliceChars = 65_536;

/** What is known of an export before its rows: for the headers and the name of the file. */
export interface ExportHead {
  readonly total: number;
  /** The largest number of rows that are written. */
  readonly limit: number;
  readonly complete: boolean;
  readonly fileName: string;
}

export function exportHead(
  exported: Omit<Exported<unknown>, "columns" | "rows">,
  format: ExportFormat,
  nowMs: number,
  limit: number = mostExported,
): ExportHead {
  const { list, cluster, total, notes } = exported;
  const complete = total <= limit && notes.length === 0;
  const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, "");
  const where = (cluster ?? "all").replace(/[^A-Za-z0-9._-]/g, "_");
  const part = total > limit ? `-first-${limit}-of-${total}` : complete ? "" : "-incomplete";
  return { total, limit, complete, fileName: `holdfast-${list}-${where}-${time}${part}.${format}` };
}

/** The file in pieces. Other work can run in between, and each piece is made only when it is asked for. */
export async function* writtenExport<R>(
  { columns, rows, list, notes }: Exported<R>,
  { total, limit, complete }: ExportHead,
  format: ExportFormat,
  nowMs: number,
): AsyncGenerator<string> {
  const turns = new Turns();
  const csv = format === "csv";
  const read = Object.values(columns);
  let text = csv
    ? csvLine(Object.keys(columns))
    : `${visibleJson({ list, nowMs, total, limit, complete, notes }).slice(0, -1)},"rows":[`;
  let count = 0;
  for (const row of rows) {
    if (turns.isOver()) await turns.next();
    if (row === null) continue;
    if (count === limit) break;
    text += csv ? csvLine(read.map((of) => of(row))) : `${count === 0 ? "" : ","}\n${visibleJson(row)}`;
    count += 1;
    if (text.length < sliceChars) continue;
    yield text;
    text = "";
  }
  yield csv ? text : `${text}\n]}\n`;
}
