import { UsageError } from "./usage.js";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** About 24 days: more is a slip of the finger, and longer than timers of Node.js run. */
const longestMs = 2 ** 31 - 1;

/**
 * Milliseconds of a text such as `500ms`, `30s`, `1.5m`, `2h`; without a unit it is seconds, as for flock(1) and timeout(1). Throws
 * `UsageError` that names `option`.
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
