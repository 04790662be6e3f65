import { stat } from "node:fs/promises";
import { scanHistory } from "../../history/read.js";
import type { HistoryRecord } from "../../history/record.js";

/** A page with more raw text than this takes long to open. */
export const mostRawBytes: number = 12 * 1024 * 1024;

/**
 * The raw records for the page, one a line. If all of them fit, all are included. Otherwise only the records that
 * convict and the rare ones that show most: faults, workers, events, refused writes.
 */
export async function rawRecords(
  path: string,
  wanted: ReadonlySet<number>,
  mostBytes: number = mostRawBytes,
): Promise<{ lines: string[]; partial: boolean }> {
  const partial = (await stat(path)).size > mostBytes;
  const lines: string[] = [];
  let bytes = 0;
  await scanHistory(path, (record) => {
    if (partial && (bytes > mostBytes || !(wanted.has(record.i) || isRare(record)))) return;
    const line = JSON.stringify(record);
    bytes += line.length + 1;
    lines.push(line);
  });
  return { lines, partial };
}

const isRare = (record: HistoryRecord): boolean =>
  record.type === "meta" ||
  record.type === "fault" ||
  record.type === "worker" ||
  record.type === "event" ||
  (record.type === "effect" && !record.accepted);
