import type { Millis } from "@holdfast/core";
import type { Finding } from "../observe/collector.js";

/** A finding whose start is not known yet. `sinceMs` is set where the problem itself shows when it started. */
export type Found = Omit<Finding, "sinceMs"> & { readonly sinceMs?: Millis };

/** Adds the start to the findings of one look. A finding that the look before had under the same id keeps its start. */
export class FindingTimes {
  /** The start of each finding by its id, for the next look. */
  readonly times: Map<string, Millis> = new Map();
  readonly #nowMs: Millis;
  readonly #before: ReadonlyMap<string, Millis>;

  constructor(nowMs: Millis, before: ReadonlyMap<string, Millis>) {
    this.#nowMs = nowMs;
    this.#before = before;
  }

  date(found: Found): Finding {
    const sinceMs = found.sinceMs ?? this.#before.get(found.id) ?? this.#nowMs;
    this.times.set(found.id, sinceMs);
    return { ...found, sinceMs };
  }
}

/** Adds the start to findings, as `FindingTimes` does, from the findings of the look before. */
export function dated(found: readonly Found[], before: readonly Finding[], nowMs: Millis): Finding[] {
  const times = new FindingTimes(nowMs, new Map(before.map(({ id, sinceMs }) => [id, sinceMs])));
  return found.map((each) => times.date(each));
}
