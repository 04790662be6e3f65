import { LayoutConflictError, type LockProvider, type RecordReader } from "@holdfast/core";

/** The record that has the names of all schedules, as a JSON array. On ZooKeeper it stands beside their records. */
const indexName = "schedules";
/** More bytes of names would not fit into a record. Schedules that come later are not listed. */
const mostBytes = 60_000;

/**
 * Adds a schedule to the list of names, which each schedule does once in its life. A record that holds something else stays
 * as it is, because the list is only for looking.
 */
export async function list(locks: LockProvider, name: string): Promise<void> {
  try {
    const index = locks.record(indexName);
    for (;;) {
      const text = await index.read();
      const names = namesIn(text);
      if (names === null || names.includes(name)) return;
      const more = JSON.stringify([...names, name].sort());
      if (Buffer.byteLength(more) > mostBytes || (await index.replace(text, more))) return;
    }
  } catch (error) {
    if (!(error instanceof LayoutConflictError)) throw error;
  }
}

export async function listed(records: RecordReader): Promise<readonly string[]> {
  return namesIn(await records.record(indexName).read()) ?? [];
}

/** `null`: the record holds something else. */
function namesIn(text: string | null): readonly string[] | null {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(found) && found.every((name) => typeof name === "string") ? found : null;
  } catch {
    return null;
  }
}
