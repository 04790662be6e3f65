import type { Millis } from "@holdfast/core";
import type { Finding } from "../observe/collector.js";

/** A finding before it is known since when it has been there. `sinceMs`: where the thing that was found shows it. */
export type Found = Omit<Finding, "sinceMs"> & { readonly sinceMs?: Millis };

/** One look at all that may be wrong: what was found under the same id at the look before keeps its moment. */
export class FindingTimes {
  /** The moments by id, for the next look. */
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

/** The same where all that was found before is at hand. */
export function dated(found: readonly Found[], before: readonly Finding[], nowMs: Millis): Finding[] {
  const times = new FindingTimes(nowMs, new Map(before.map(({ id, sinceMs }) => [id, sinceMs])));
  return found.map((each) => times.date(each));
}
