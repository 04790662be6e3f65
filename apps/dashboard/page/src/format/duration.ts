import { duration, span } from "@holdfast/collectors/internal";

export { duration, span };

const second = 1000;

/**
 * How long ago something was. Times below a second are not shown, because the clocks of two machines differ by more.
 */
export function ago(ms: number): string {
  return ms < second ? "less than 1 s ago" : `${span(ms)} ago`;
}

/** When something is due again; if it is overdue, "now". */
export function due(ms: number): string {
  return ms < second ? "now" : `in ${duration(ms)}`;
}
