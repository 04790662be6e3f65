import { InvalidArgumentError, type Millis } from "@holdfast/core";

/** The due times of a schedule, as milliseconds since 1970. */
export interface DueTimes {
  /** The first one after `afterMs`. */
  after(afterMs: Millis): Millis;
}

export function dueTimes(every: unknown): DueTimes {
  if (typeof every === "function") {
    const next = every as (after: Date) => unknown;
    return {
      after(afterMs) {
        const due = next(new Date(afterMs));
        if (due instanceof Date && due.getTime() > afterMs) return due.getTime();
        throw new InvalidArgumentError(
          `oncePer: every must return a Date after the one that it is given, ${new Date(afterMs).toISOString()}; it returned ${String(due)}`,
        );
      },
    };
  }
  if (typeof every !== "number" || !Number.isFinite(every) || every < 1) {
    throw new InvalidArgumentError(
      `oncePer: every must be a function or a number of milliseconds, 1 or more; got ${String(every)}`,
    );
  }
  return {
    after(afterMs) {
      // Starts one below, because rounding may make the quotient too large or too small by one where `every` is no whole
      // number.
      let nth = Math.floor(afterMs / every) - 1;
      while (nth * every <= afterMs) nth++;
      return nth * every;
    },
  };
}

const minuteMs: Millis = 60_000;

/**
 * The last due time after `afterMs` and not after `nowMs`; `null` where there is none. Looks at the last minute first, so
 * that years cost nothing.
 */
export function lastDue(times: DueTimes, afterMs: Millis, nowMs: Millis): Millis | null {
  for (let windowMs = minuteMs; ; windowMs *= 8) {
    const fromMs = Math.max(afterMs, nowMs - windowMs);
    let last: Millis | null = null;
    for (let next = times.after(fromMs); next <= nowMs; next = times.after(next)) last = next;
    if (last !== null || fromMs === afterMs) return last;
  }
}
