const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const two = (value: number): string => String(value).padStart(2, "0");

/** An age to be compared with others in a column: `00:41`, `1:02:03`, `3 d 04:05`. Less than nothing (clocks differ) is nothing. */
export function clock(ms: number): string {
  const left = Math.max(0, Math.floor(ms / second));
  const days = Math.floor(left / 86_400);
  const hours = Math.floor(left / 3600) % 24;
  const minutes = Math.floor(left / 60) % 60;
  if (days > 0) return `${days} d ${two(hours)}:${two(minutes)}`;
  if (hours > 0) return `${hours}:${two(minutes)}:${two(left % 60)}`;
  return `${two(minutes)}:${two(left % 60)}`;
}

/** A length in one unit, for sentences: `850 ms`, `12.4 s`, `5 min`, `3 h`. */
export function span(ms: number): string {
  const length = Math.max(0, ms);
  if (length < second) return `${Math.round(length)} ms`;
  if (length < 100 * second) return `${trim(length / second)} s`;
  if (length < 100 * minute) return `${trim(length / minute)} min`;
  if (length < 48 * hour) return `${trim(length / hour)} h`;
  return `${trim(length / day)} d`;
}

/** How long ago something was. Below a second the clocks of two machines differ by more than that. */
export function ago(ms: number): string {
  return ms < second ? "less than 1 s ago" : `${span(ms)} ago`;
}

/** When something is due again; what should have come already comes now. */
export function due(ms: number): string {
  return ms < second ? "now" : `in ${clock(ms)}`;
}

function trim(value: number): string {
  return value < 20 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}
