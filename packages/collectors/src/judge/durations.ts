const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000] as const;

/**
 * A duration in its two largest units, rounded down to whole seconds: `0 s`, `41 s`, `2 min 20 s`, `6 min`, `1 h 2 min`,
 * `3 d 4 h`. A negative duration, which two clocks that differ can give, is `0 s`.
 */
export function duration(ms: number): string {
  const length = Math.max(0, ms);
  if (length < minute) return `${Math.floor(length / second)} s`;
  if (length < hour) return units(length, [minute, "min"], [second, "s"]);
  if (length < day) return units(length, [hour, "h"], [minute, "min"]);
  return units(length, [day, "d"], [hour, "h"]);
}

/** The same without seconds from one minute on, for sentences that must not change each second: `45 s`, `6 min`, `1 h 2 min`. */
export function roughly(ms: number): string {
  return duration(ms < minute ? ms : ms - (ms % minute));
}

/** A measured duration: `0.8 ms`, `850 ms`, `12.4 s`; from 100 s on as `duration` writes it. */
export function span(ms: number): string {
  const length = Math.max(0, ms);
  const short = (value: number): string =>
    value < 20 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
  if (length < second) return `${short(length)} ms`;
  return length < 100 * second ? `${short(length / second)} s` : duration(length);
}

type Unit = readonly [lengthMs: number, name: string];

function units(ms: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((ms % large) / small);
  const whole = `${Math.floor(ms / large)} ${largeName}`;
  return rest === 0 ? whole : `${whole} ${rest} ${smallName}`;
}
