import { Hold, Operation } from "./history.js";
import type { EventRecord, Nanos, OutcomeRecord, WorkerRecord } from "./record.js";

const never = Number.POSITIVE_INFINITY;

/** Tracks who was granted which hold, and what ended it: releases, downgrades, losses. */
export class HoldBook {
  /** The holds that have not been released, by their id. The innermost is last. */
  readonly #live = new Map<string, Hold[]>();
  /** The worker that was granted the hold of each name by an acquire. */
  readonly #owners = new Map<string, string>();
  readonly #onHold: (hold: Hold) => void;

  constructor(onHold: (hold: Hold) => void) {
    this.#onHold = onHold;
  }

  /**
   * @throws Error if an acquire was granted a hold of the same name before, because records about the one would be taken
   * for the other
   */
  granted(operation: Operation, record: OutcomeRecord): void {
    const id = record.ret?.hold ?? `${operation.p}:${operation.op}`;
    const owner = this.#owners.get(id);
    if (owner !== undefined)
      throw new Error(
        `${operation.p} names its hold ${id}, as ${owner} has before: each needs a name of its own`,
      );
    this.#owners.set(id, operation.p);
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

  /**
   * However a release ends, its owner must not go on. But only after a successful release is the hold certainly over.
   */
  released(operation: Operation, record: OutcomeRecord): void {
    const hold = this.#innermost(operation.hold);
    if (hold !== null && record.type === "ok") hold.surelyOverAt = Math.min(hold.surelyOverAt, record.t);
  }

  /** It is not known whether the downgrade took place, so the write ends when it was asked for: from then on others may read. */
  downgradeUnanswered(operation: Operation): Hold | null {
    const write = this.#innermost(operation.hold);
    write?.endsAt(operation.invokedAt, operation.invoke, "downgrade");
    return write;
  }

  /**
   * Handles the answer of a downgrade. The write ends and the read begins when the downgrade was asked for, because
   * from then until the answer its owner had at least the read. If the write was lost meanwhile, what the owner had
   * until the answer is left open, and the read begins with the answer. A refused downgrade changes nothing.
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
    // Until the answer only the promise for the write counts.
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

/** Ends a hold with the death of its process. `records` are those of its worker, in the order of time. */
export function endByDeath(hold: Hold, records: readonly WorkerRecord[]): void {
  const death = deathAfter(hold.from, records);
  if (death === null) return;
  const at = Math.max(death.t, hold.from);
  hold.endsAt(at, death.i, death.f === "killed" ? "killed" : "exit");
  hold.surelyOverAt = Math.min(hold.surelyOverAt, at);
}

/**
 * The death of a worker at or after `t`. Also a death before `t` if nothing came after it, because a kill is recorded
 * before it works.
 */
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
