import { LayoutConflictError, type Millis, type SharedRecord } from "@holdfast/core";
import { messageOf } from "@holdfast/core/internal";

/**
 * The last due time that a replica has claimed, as it is stored. Due times are claimed in rising order only, so one record
 * shows for every due time whether it is taken.
 */
export interface RunRecord {
  readonly v: 1;
  /** Due times up to here are taken. */
  readonly due: Millis;
  /** `"born"`: no run yet, and no due time before this one counts. */
  readonly state: "born" | "running" | "done" | "failed";
  /** The id of the run's claim, which no other claim has. */
  readonly claim: string;
  readonly attempt: number;
  readonly by: string;
  /** When it was claimed, by the clock of its replica. Once the end of the run is noted: when its job began. */
  readonly at: Millis;
  readonly ended?: Millis;
  readonly error?: string;
}

/** A record with the text that it was read from, by which it is replaced. */
export interface SeenRecord {
  readonly text: string | null;
  readonly record: RunRecord | null;
}

const prefix = "schedules/";

/** The name of the record of a schedule. */
export function recordName(name: string): string {
  return `${prefix}${name}`;
}

export async function look(record: Pick<SharedRecord, "name" | "read">): Promise<SeenRecord> {
  const text = await record.read();
  return { text, record: text === null ? null : parse(record.name, text) };
}

/** The farthest time from the epoch that a `Date` can be. */
const farthestMs: Millis = 8.64e15;
const states: ReadonlySet<unknown> = new Set<RunRecord["state"]>(["born", "running", "done", "failed"]);

/** Whether a record holds what its type says. Any program that may write to the backend may have put something else there. */
function isRunRecord(found: Readonly<Partial<Record<keyof RunRecord, unknown>>>): boolean {
  const isTime = (value: unknown): boolean => typeof value === "number" && Math.abs(value) <= farthestMs;
  const isText = (value: unknown): boolean => typeof value === "string";
  return (
    found.v === 1 &&
    states.has(found.state) &&
    Number.isFinite(found.attempt) &&
    [found.due, found.at].every(isTime) &&
    [found.claim, found.by].every(isText) &&
    (found.ended === undefined || isTime(found.ended)) &&
    (found.error === undefined || isText(found.error))
  );
}

function parse(name: string, text: string): RunRecord {
  try {
    const found = JSON.parse(text) as RunRecord;
    if (isRunRecord(found)) return found;
  } catch {
    // The error below names the record and what was found in it.
  }
  throw new LayoutConflictError(
    `the record ${JSON.stringify(name)} holds something else than the last run of a schedule: ${JSON.stringify(text.slice(0, 80))}`,
    { lockName: name },
  );
}

/** The most characters of an error's message that a record holds. */
const errorLength = 500;

export function errorText(error: unknown): string {
  return messageOf(error).slice(0, errorLength);
}
