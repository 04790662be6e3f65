import type { OutcomeKind } from "../../engine/outcome.js";
import type { EndCause } from "../../history/history.js";

/**
 * The data that the page of a timeline draws, compact enough for a million operations: rows instead of objects, times
 * in whole microseconds since the start of the run, -1 for "never" and for "no record". The page reads exactly this.
 */
export interface TimelineData {
  readonly title: string;
  readonly scenario: string;
  readonly run: string;
  readonly seed: number;
  readonly outcome: OutcomeKind | "checked";
  readonly why: string;
  readonly endUs: number;
  readonly operations: number;
  readonly records: number;
  /** Workers with their incarnation, `w3#0`. Rows refer to them by their index here. */
  readonly workers: readonly string[];
  readonly keys: readonly { readonly name: string; readonly kind: string; readonly fenced: boolean }[];
  readonly causes: readonly EndCause[];
  readonly holds: readonly HoldRow[];
  readonly waits: readonly WaitRow[];
  /** Stretches in which a worker was stopped, was dead, or had ended. */
  readonly halts: readonly HaltRow[];
  readonly events: readonly EventRow[];
  readonly effects: readonly EffectRow[];
  readonly faults: readonly TimelineFault[];
  readonly servers: readonly ServerLane[];
  readonly overlaps: readonly OverlapRow[];
  /** The number of overlaps that are not listed: a run that is convicted a million times is not drawn a million times. */
  readonly overlapsLeftOut: number;
  readonly verdicts: readonly TimelineVerdict[];
  /** Whether only some of the raw records are in the page. The others are in `history.jsonl`. */
  readonly rawIsPartial: boolean;
}

export type HoldRow = readonly [
  worker: number,
  key: number,
  askedUs: number,
  fromUs: number,
  toUs: number,
  cause: number,
  reads: 0 | 1,
  token: string,
  name: string,
  invoke: number,
  grant: number,
  end: number,
];

/** An acquire that was not granted. */
export type WaitRow = readonly [
  worker: number,
  key: number,
  fromUs: number,
  toUs: number,
  outcome: "fail" | "info" | "open",
  invoke: number,
  end: number,
];

export type HaltRow = readonly [
  worker: number,
  fromUs: number,
  toUs: number,
  state: "paused" | "dead" | "ended",
  begin: number,
  end: number,
];

export type EventRow = readonly [
  worker: number,
  key: number,
  atUs: number,
  name: string,
  hold: string,
  record: number,
];

/** A write at the protected resource. */
export type EffectRow = readonly [
  key: number,
  atUs: number,
  accepted: 0 | 1,
  token: string,
  hold: string,
  record: number,
];

/** Two holds, by their indexes in `holds`, that should not overlap. */
export type OverlapRow = readonly [key: number, first: number, second: number, fromUs: number, toUs: number];

export interface TimelineFault {
  readonly name: string;
  readonly target: string;
  readonly fromUs: number;
  readonly toUs: number;
  readonly evident: boolean;
  readonly record: number;
}

export interface ServerLane {
  readonly name: string;
  readonly stretches: readonly {
    readonly fromUs: number;
    readonly toUs: number;
    readonly state: "down" | "paused" | "cut off" | "troubled";
    readonly fault: number;
  }[];
  readonly roles: readonly { readonly atUs: number; readonly role: string }[];
}

export interface TimelineVerdict {
  readonly checker: string;
  readonly verdict: "pass" | "violation" | "unknown";
  readonly expected: "pass" | "violation" | "either" | "";
  readonly summary: string;
  /** The number of violations; there may be fewer examples. */
  readonly count: number;
  readonly examples: readonly { readonly records: readonly number[]; readonly text: string }[];
}
