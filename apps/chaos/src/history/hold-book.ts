import { Hold, Operation } from "./history.js";
import type { EventRecord, Nanos, OutcomeRecord, WorkerRecord } from "./record.js";

const never = Number.POSITIVE_INFINITY;

/** Keeps books of who was granted what, and what ended it: releases, downgrades, losses. */
export class HoldBook {
  /** Holds that have not been released, by their id: the innermost last. */
  readonly #live = new Map<string, Hold[]>();
  /** Which worker was granted the hold of each name. */
  readonly #owners = new Map<string, string>();
  readonly #onHold: (hold: Hold) => void;

  constructor(onHold: (hold: Hold) => void) {
    this.#onHold = onHold;
  }

  /** @throws Error where another worker was granted a hold of that name: what is said of the one would be taken for the other */
  granted(operation: Operation, record: OutcomeRecord): void {
    const id = record.ret?.hold ?? `${operation.p}:${operation.op}`;
    const owner = this.#owners.get(id) ?? operation.p;
    if (owner !== operation.p)
      throw new Error(
        `${operation.p} names its hold ${id}, as ${owner} has before: each needs a name of its own`,
      );
    this.#owners.set(id, owner);
    operation.hold = id;
    this.#add(
      new Hold(operation, id, record.t, record.i, {
        mode: operation.mode,
        token: record.ret?.token === undefined ? null : BigInt(record.ret.token),
        validUntil: record.ret?.validUntil ?? never,
        downgradedFrom: null,
      }),
    );
  }

  releaseAsked(id: string, t: Nanos, i: number): void {
    this.#live.get(id)?.at(-1)?.endsAt(t, i, "release");
  }

  /** However a release ends, its owner must not go on; only one that came back well is known to be over. */
  released(operation: Operation, record: OutcomeRecord): void {
    const hold = this.#innermost(operation.hold);
    if (hold !== null && record.type === "ok") hold.surelyOverAt = Math.min(hold.surelyOverAt, record.t);
  }

  /** Whether it came about is not known: from when it was asked for, others may read. */
  downgradeUnanswered(operation: Operation): Hold | null {
    const write = this.#innermost(operation.hold);
    write?.endsAt(operation.invokedAt, operation.invoke, "downgrade");
    return write;
  }

  /**
   * A downgrade came back: the write ends where it was asked for, and the read begins there, since its owner had at least
   * that at every moment until the answer. Where the write was lost meanwhile, what it had until then is left open, and the read begins
   * with the answer. A refused downgrade changes nothing.
   */
  downgraded(operation: Operation, record: OutcomeRecord): void {
    if (record.type === "fail") return;
    const write = this.downgradeUnanswered(operation);
    if (write === null || record.type === "info") return;
    write.surelyOverAt = Math.min(write.surelyOverAt, record.t);
    const acquired = new Operation(
      { p: write.p, f: "acquire", key: write.key, op: operation.op, i: operation.invoke, t: write.invokedAt },
      {
        mode: "read",
        permits: write.permits,
        ...(write.nests ? { thread: write.owner.slice(write.p.length + 1) } : {}),
      },
      write.id,
    );
    const from = write.lost < 0 ? operation.invokedAt : record.t;
    const read = new Hold(acquired, record.ret?.hold ?? write.id, from, record.i, {
      mode: "read",
      token: record.ret?.token === undefined ? null : BigInt(record.ret.token),
      validUntil: write.validUntil,
      downgradedFrom: write,
    });
    // Only what the write was promised is promised until the answer.
    if (record.ret?.validUntil !== undefined) read.extendedAt(record.t, record.ret.validUntil);
    this.#add(read);
  }

  told(record: EventRecord): void {
    if (record.hold === undefined) return;
    for (const hold of this.#live.get(record.hold) ?? []) {
      if (record.f === "lost") {
        hold.endsAt(record.t, record.i, "lost");
        hold.surelyOverAt = Math.min(hold.surelyOverAt, record.t);
        hold.lostAt = Math.min(hold.lostAt, record.t);
        hold.lost = record.i;
      } else if (record.f === "extended" && record.validUntil !== undefined) {
        hold.extendedAt(record.t, record.validUntil);
      }
    }
  }

  #add(hold: Hold): void {
    this.#onHold(hold);
    const nested = this.#live.get(hold.id);
    if (nested === undefined) this.#live.set(hold.id, [hold]);
    else nested.push(hold);
  }

  #innermost(id: string): Hold | null {
    const nested = this.#live.get(id);
    const hold = nested?.pop();
    if (nested === undefined || hold === undefined) return null;
    if (nested.length === 0) this.#live.delete(id);
    return hold;
  }
}

/** A hold ends with its process. `records` are those of its worker, in the order of time. */
export function endByDeath(hold: Hold, records: readonly WorkerRecord[]): void {
  const death = deathAfter(hold.from, records);
  if (death === null) return;
  const at = Math.max(death.t, hold.from);
  hold.endsAt(at, death.i, death.f === "killed" ? "killed" : "exit");
  hold.surelyOverAt = Math.min(hold.surelyOverAt, at);
}

/** The death of a worker at or after `t`; or one before it that nothing came after: a kill is stamped before it works. */
function deathAfter(t: Nanos, records: readonly WorkerRecord[]): WorkerRecord | null {
  let last: WorkerRecord | null = null;
  for (const record of records) {
    if (record.f === "start") last = null;
    else if (record.f === "killed" || record.f === "exit") {
      if (record.t >= t) return record;
      last = record;
    }
  }
  return last;
}
