import type {
  EffectRecord,
  EventRecord,
  FaultRecord,
  MetaRecord,
  Nanos,
  OperationName,
  SnapshotRecord,
  WorkerRecord,
} from "./record.js";

export type KeyMeta = MetaRecord["keys"][string];

/** An operation with its end. An operation that never ended has the outcome `open` and ends at infinity. */
export class Operation {
  readonly p: string;
  readonly f: OperationName;
  readonly key: string;
  readonly op: number;
  /** `i` of the record that began it. */
  readonly invoke: number;
  readonly invokedAt: Nanos;
  readonly mode: "read" | "write";
  readonly permits: number;
  readonly waitMs: number;
  readonly thread: string;
  /** The hold of which it is about, or that it was granted. */
  hold: string;
  outcome: "ok" | "fail" | "info" | "open" = "open";
  /** `i` of the record that ended it; -1 if there is none. */
  end = -1;
  endedAt: Nanos = Number.POSITIVE_INFINITY;
  count = -1;
  /** Whether the client kept the lock for its next owner after this release. */
  kept = false;
  /** The name of the hold in its answer; empty if there is none. */
  named = "";

  constructor(
    from: { p: string; f: OperationName; key: string; op: number; i: number; t: Nanos },
    arg: { mode?: "read" | "write"; permits?: number; waitMs?: number; thread?: string },
    hold: string,
  ) {
    this.p = from.p;
    this.f = from.f;
    this.key = from.key;
    this.op = from.op;
    this.invoke = from.i;
    this.invokedAt = from.t;
    this.mode = arg.mode ?? "write";
    this.permits = arg.permits ?? 1;
    this.waitMs = arg.waitMs ?? -1;
    this.thread = arg.thread ?? "";
    this.hold = hold;
  }

  get acquires(): boolean {
    return this.f === "acquire" || this.f === "try-acquire";
  }
}

export type EndCause = "release" | "lost" | "killed" | "exit" | "downgrade" | "open";

/**
 * A hold as its worker knows it: from the return of the acquire to the first thing that ended it. A downgraded read
 * begins when the downgrade was asked for: from then on its owner has always had either the write or the read.
 */
export class Hold {
  readonly id: string;
  readonly key: string;
  readonly p: string;
  /** The owner: two holds of one owner may nest. Without a logical thread each hold has an owner of its own. */
  readonly owner: string;
  /** Whether its owner is a logical thread, which may have other holds within this one. */
  readonly nests: boolean;
  readonly mode: "read" | "write";
  readonly permits: number;
  readonly token: bigint | null;
  /** `i` of the record of the grant. */
  readonly grant: number;
  readonly invokedAt: Nanos;
  readonly from: Nanos;
  /** The write from which this read was downgraded; `null` for all other holds. */
  readonly downgradedFrom: Hold | null;
  to: Nanos = Number.POSITIVE_INFINITY;
  /** `i` of the record that ended it; -1 if it never ended. */
  end = -1;
  cause: EndCause = "open";
  /** The time from which no worker can have it any more: the release returned, it was lost, or its process is dead. */
  surelyOverAt: Nanos = Number.POSITIVE_INFINITY;
  lostAt: Nanos = Number.POSITIVE_INFINITY;
  lost = -1;
  /** The time until which the recipe promised the hold. */
  validUntil: Nanos;
  /** Stretches between the end of a promise and the next extension. Rare. */
  gaps: { from: Nanos; to: Nanos }[] | null = null;

  constructor(acquire: Operation, id: string, from: Nanos, grant: number, more: HoldDetails) {
    this.id = id;
    this.key = acquire.key;
    this.p = acquire.p;
    this.nests = acquire.thread !== "";
    this.owner = acquire.thread === "" ? `${acquire.p}:${acquire.op}` : `${acquire.p}/${acquire.thread}`;
    this.mode = more.mode;
    this.permits = acquire.permits;
    this.token = more.token;
    this.grant = grant;
    this.invokedAt = acquire.invokedAt;
    this.from = from;
    this.validUntil = more.validUntil;
    this.downgradedFrom = more.downgradedFrom;
  }

  endsAt(t: Nanos, i: number, cause: EndCause): void {
    if (t >= this.to) return;
    this.to = t;
    this.end = i;
    this.cause = cause;
  }

  extendedAt(t: Nanos, validUntil: Nanos): void {
    if (t > this.validUntil) {
      this.gaps ??= [];
      this.gaps.push({ from: this.validUntil, to: t });
    }
    this.validUntil = validUntil;
  }
}

interface HoldDetails {
  readonly mode: "read" | "write";
  readonly token: bigint | null;
  readonly validUntil: Nanos;
  readonly downgradedFrom: Hold | null;
}

/** A fault, from its beginning to its end. */
export interface Fault {
  readonly name: string;
  readonly target: string;
  readonly begin: FaultRecord;
  /** `null` if the run ended before the fault. */
  end: FaultRecord | null;
  readonly from: Nanos;
  to: Nanos;
  evident: boolean;
}

/**
 * Whether this is the end of a try that missed its target and was taken back. Such a try does not count as a fault that
 * happened.
 */
export const isMiss = ({ evidence }: Pick<FaultRecord, "evidence">): boolean =>
  (evidence as { hit?: unknown } | null | undefined)?.hit === false;

/** Everything about one key. Every list is in the order of time. */
export interface KeyHistory {
  readonly key: string;
  readonly meta: KeyMeta;
  readonly operations: Operation[];
  readonly holds: Hold[];
  readonly effects: EffectRecord[];
  readonly snapshots: SnapshotRecord[];
  readonly events: EventRecord[];
}

export interface History {
  readonly meta: MetaRecord;
  readonly keys: ReadonlyMap<string, KeyHistory>;
  readonly faults: readonly Fault[];
  readonly workers: ReadonlyMap<string, readonly WorkerRecord[]>;
  /** The latest time stamp of all records. */
  readonly endedAt: Nanos;
  readonly records: number;
}
