/** An age to be compared with others in a column: `00:41`, `1:02:03`, `3 d 04:05`. Less than nothing (clocks differ) is nothing. */
export function clock(ms: number): string {
  const left = Math.max(0, Math.floor(ms / 1_000));
  const two = (value: number): string => String(value).padStart(2, "0");
  const [days, hours, minutes] = [
    Math.floor(left / 86_400),
    Math.floor(left / 3_600) % 24,
    Math.floor(left / 60) % 60,
  ];
  if (days > 0) return `${days} d ${two(hours)}:${two(minutes)}`;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(left % 60)}` : `${two(minutes)}:${two(left % 60)}`;
}

/** A length for a sentence: `0.8 ms`, `850 ms`, `12.4 s`, `5 min`, `3 h`. */
export function span(ms: number): string {
  const length = Math.max(0, ms);
  const short = (value: number): string =>
    value < 20 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
  if (length < 1_000) return `${short(length)} ms`;
  if (length < 100_000) return `${short(length / 1_000)} s`;
  if (length < 6_000_000) return `${short(length / 60_000)} min`;
  return length < 172_800_000 ? `${short(length / 3_600_000)} h` : `${short(length / 86_400_000)} d`;
}
