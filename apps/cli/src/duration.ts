import { UsageError } from "./usage.js";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** About 24 days. A longer time is probably a typing error, and timers of Node.js do not run for longer. */
const longestMs = 2 ** 31 - 1;

/**
 * The milliseconds of a text such as `500ms`, `30s`, `1.5m` or `2h`. A number without a unit is in seconds, as for
 * flock(1) and timeout(1). Throws `UsageError`, which names `option`.
 */
export function durationOf(option: string, text: string): number {
  const parts = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
  if (parts === null)
    throw new UsageError(
      `${option} must be a time such as 500ms, 30s, 5m or 1h; got ${JSON.stringify(text)}`,
    );
  const ms = Number(parts[1]) * (unitMs[parts[2] ?? "s"] as number);
  if (ms > longestMs) throw new UsageError(`${option} must be at most 24 days; got ${text}`);
  return ms;
}
