import { createReadStream } from "node:fs";
import { HistoryBuilder } from "./builder.js";
import type { History } from "./history.js";
import { HistoryError } from "./history-error.js";
import { parseRecord } from "./parse-record.js";
import type { HistoryRecord } from "./record.js";

const chunkBytes = 1024 * 1024;

/** Passes every record of a file to `onRecord`, with one chunk in memory at a time. Throws `HistoryError`. */
export async function scanHistory(
  path: string,
  onRecord: (record: HistoryRecord, line: number) => void,
): Promise<void> {
  let rest = "";
  let line = 0;
  const take = (text: string): void => {
    line += 1;
    if (text.trim() !== "") onRecord(parseRecord(text, line), line);
  };
  for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: chunkBytes })) {
    const text: string = rest + chunk;
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      take(text.slice(from, end));
      from = end + 1;
    }
    rest = text.slice(from);
  }
  if (rest !== "") take(rest);
}

/** Every record, in the order of the file. For small histories and for reports; checks use `readHistory`. */
export async function readRecords(path: string): Promise<HistoryRecord[]> {
  const records: HistoryRecord[] = [];
  await scanHistory(path, (record) => records.push(record));
  return records;
}

/** Reads a file into the form that the checkers judge. Throws `HistoryError` with the line of the first bad record. */
export async function readHistory(path: string): Promise<History> {
  const builder = new HistoryBuilder();
  await scanHistory(path, (record, line) => {
    builder.add(record, line);
  });
  return builder.build();
}

/** Builds the same from records in memory. */
export function historyOf(records: Iterable<HistoryRecord>): History {
  const builder = new HistoryBuilder();
  let line = 0;
  for (const record of records) builder.add(record, ++line);
  if (line === 0) throw new HistoryError(0, "the history is empty");
  return builder.build();
}
