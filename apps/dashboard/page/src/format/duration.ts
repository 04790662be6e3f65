import { duration, span } from "@holdfast/collectors/internal";

export { duration, span };

const second = 1000;

/** How long ago something was. Below a second the clocks of two machines differ by more than that. */
export function ago(ms: number): string {
  return ms < second ? "less than 1 s ago" : `${span(ms)} ago`;
}

/** When something is due again; what should have come already comes now. */
export function due(ms: number): string {
  return ms < second ? "now" : `in ${duration(ms)}`;
}
