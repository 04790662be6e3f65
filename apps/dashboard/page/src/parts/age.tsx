import type { JSX } from "preact";
import { now } from "../app/store.js";
import { duration } from "../format/duration.js";
import { instant, timeOfDay, type Zone } from "../format/instant.js";
import { age, type Moment } from "../format/moment.js";

/** The time since a moment, updated every second, and how it is known. */
export function Age({ of: moment, zone }: { of: Moment; zone: Zone }): JSX.Element {
  const { text, note, why } = age(moment, now.value);
  const at = moment.atMs === null ? why : `${why} ${instant(moment.atMs, zone)}`;
  return (
    <span class="age" title={at}>
      {text === "unknown" ? <span class="note">unknown</span> : <span class="figure">{text}</span>}
      {note !== "" && <span class="note">{note}</span>}
    </span>
  );
}

/** How long ago something was, in one word: `12 s`. */
export function Ago({ atMs }: { atMs: number }): JSX.Element {
  return <span class="figure">{duration(now.value - atMs)}</span>;
}

export function At({
  ms,
  zone,
  short = false,
  toSecond = false,
}: {
  ms: number;
  zone: Zone;
  short?: boolean;
  /** For a moment that is known only to the second. */
  toSecond?: boolean;
}): JSX.Element {
  return (
    <time class="figure" dateTime={new Date(ms).toISOString()} title={instant(ms, zone)}>
      {short ? timeOfDay(ms, zone) : toSecond ? instant(ms, zone).replace(/\.\d+/, "") : instant(ms, zone)}
    </time>
  );
}
