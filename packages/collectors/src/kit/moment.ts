import type { Millis } from "@holdfast/core";
import type { Moment } from "../observe/observed-lock.js";

export const unknownMoment: Moment = Object.freeze({ atMs: null, provenance: "unknown" });

/** The earliest of the known moments. Where another moment is unknown, the result is only a bound. */
export function earliest(moments: Iterable<Moment>): Moment {
  let first = unknownMoment;
  for (const moment of moments) {
    if (moment.atMs !== null && (first.atMs === null || moment.atMs < first.atMs)) first = moment;
  }
  return first;
}

/** How long a hold had lasted when its end was seen. `null` where its start is not known exactly. */
export function heldForMs({ atMs, provenance }: Moment, endMs: Millis): Millis | null {
  return provenance === "exact" && atMs !== null ? Math.max(0, endMs - atMs) : null;
}
