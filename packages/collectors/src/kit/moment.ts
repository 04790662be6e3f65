import type { Millis } from "@holdfast/core";
import type { Moment } from "../observe/observed-lock.js";

export const unknownMoment: Moment = Object.freeze({ atMs: null, provenance: "unknown" });

/** The first of those that are known, which is no more than a bound where another one is unknown. */
export function earliest(moments: Iterable<Moment>): Moment {
  let first = unknownMoment;
  for (const moment of moments) {
    if (moment.atMs !== null && (first.atMs === null || moment.atMs < first.atMs)) first = moment;
  }
  return first;
}

/** How long a hold had lasted when it was seen to end. `null` where its beginning was found by looking. */
export function heldForMs({ atMs, provenance }: Moment, endMs: Millis): Millis | null {
  return provenance === "exact" && atMs !== null ? Math.max(0, endMs - atMs) : null;
}
