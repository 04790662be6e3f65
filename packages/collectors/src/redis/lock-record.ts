import type { Millis, PrimitiveKind } from "@holdfast/core";
import { unknownMoment } from "../kit/moment.js";
import type { Finding } from "../observe/collector.js";
import type { LockFigures, Moment } from "../observe/observed-lock.js";
import type { LeaseHistory } from "./lease-history.js";
import type { HashField, Reading, Shape } from "./reading.js";

/** A field of the hash that is followed from reading to reading. */
export interface Followed extends HashField {
  count: number;
  readonly since: Moment;
  readonly lease: LeaseHistory;
}

/** The waiters with an entry in a list, as of the last full reading. */
export interface Queue {
  readonly ours: number;
  readonly java: number;
  readonly first: string | null;
  /** When the entry that is first now was first seen anywhere in the queue. */
  readonly since: Moment;
}

export const noQueue: Queue = Object.freeze({ ours: 0, java: 0, first: null, since: unknownMoment });

export type RecordShape =
  | Exclude<Shape, { readonly is: "lock" }>
  | (Extract<Shape, { readonly is: "lock" }> & { readonly fields: readonly Followed[] });

/** What is kept of one lock. There may be 100,000 of these, so the row is made only when it is asked for. */
export class LockRecord implements LockFigures {
  readonly key: string;
  shape: RecordShape = nothing;
  /** Wall time of the last reading. `leftMs` is what was left of the key then: -1 without an end, -2 when there is no key. */
  atMs: Millis = 0;
  /** See `Reading.readMs`. */
  orderMs: Millis = -Infinity;
  leftMs: Millis = -2;
  /**
   * The earliest moment, by the monotonic clock, at which the key may have run out. The server counted what was left before
   * its answer arrived. `Infinity` for a key without an end.
   */
  endsFromMs: Millis = -Infinity;
  token: string | null = null;
  denied: string | null = null;
  kind: PrimitiveKind | null = null;
  state: LockFigures["state"] = "idle";
  holderCount = 0;
  waiterCount = 0;
  waiterUnit: LockFigures["waiterUnit"] = "hidden";
  oldestWait: Moment = unknownMoment;
  oldestHold: Moment = unknownMoment;
  queue: Queue = noQueue;
  /** Whether the lock ever had Redisson's fair queue. */
  fair = false;
  /** When the lock was first read as empty; `null` while it is not empty. */
  emptySinceMs: Millis | null = null;
  /** When the lock was first read with waiters and without a holder; `null` while that is not the case. */
  ownerlessSinceMs: Millis | null = null;
  /** The highest token that was ever seen on this key. */
  highestToken: string | null;
  findings: readonly Finding[] = none;

  constructor(key: string, highestToken: string | null) {
    this.key = key;
    this.highestToken = highestToken;
  }

  /** Takes over the times of a reading. */
  date({ atMs, readMs, blurMs, leftMs }: Reading): void {
    this.atMs = atMs;
    this.orderMs = readMs;
    this.leftMs = leftMs;
    this.endsFromMs = leftMs === -1 ? Infinity : readMs - blurMs + leftMs;
  }

  get readMs(): Millis {
    return this.atMs;
  }

  get followed(): readonly Followed[] {
    return this.shape.is === "lock" ? this.shape.fields : nobody;
  }

  /** Entries of both lists. */
  get queued(): number {
    return this.queue.ours + this.queue.java;
  }
}

const nothing: RecordShape = { is: "nothing" };
const nobody: readonly Followed[] = [];
const none: readonly Finding[] = [];
