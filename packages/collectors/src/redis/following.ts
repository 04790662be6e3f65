import type { Millis } from "@holdfast/core";
import { isOurs } from "@holdfast/redis-recipes/internal";
import { heldForMs } from "../kit/moment.js";
import type { CollectorEvent } from "../observe/collector.js";
import type { Moment } from "../observe/observed-lock.js";
import { LeaseHistory } from "./lease-history.js";
import { type Followed, type LockRecord, noQueue, type Queue } from "./lock-record.js";
import { grantedAt, ownerIn } from "./owner-words.js";
import type { Beside, HashField, Reading } from "./reading.js";

/** Takes holders over from a reading and tells who came and who went. Whether a lease was raised. */
export function followHolders(
  record: LockRecord,
  reading: Reading,
  known: boolean,
  emit: (event: CollectorEvent) => void,
): boolean {
  const { shape, atMs, leftMs, token } = reading;
  const before = record.followed;
  const fields: readonly HashField[] = shape.is === "lock" ? shape.fields : [];
  for (const gone of before) {
    if (fields.some((each) => each.field === gone.field)) continue;
    emit({
      type: "released",
      key: record.key,
      entry: gone.field,
      atMs,
      token: record.token,
      heldMs: heldForMs(gone.since, atMs),
      ranOut: ranOut(record, gone, atMs),
    });
  }
  let raised = false;
  const followed = fields.map(({ field, count }): Followed => {
    const old = before.find((each) => each.field === field);
    if (old !== undefined) {
      old.count = count;
      // The end of the hash is that of its only holder; of several readers each has its own.
      if (fields.length === 1) raised = old.lease.read(leftMs, atMs, reading.blurMs) || raised;
      return old;
    }
    const alone = shape.is === "lock" && (shape.mode === null || field.endsWith(":write"));
    const since = (alone ? grantedAt(field, token, atMs) : null) ?? seenAt(atMs);
    if (known) {
      const of = isOurs(ownerIn(field)) ? token : null;
      emit({
        type: "granted",
        key: record.key,
        entry: field,
        atMs: since.atMs ?? atMs,
        token: of,
        heldMs: null,
      });
    }
    return { field, count, since, lease: new LeaseHistory(leftMs, atMs) };
  });
  record.shape = shape.is === "lock" ? { is: "lock", fields: followed, mode: shape.mode } : shape;
  return raised;
}

/** A lease that was about to end may have been given back in its very last moment. */
const lastMomentMs: Millis = 1_000;

/**
 * Whether the lease of a holder that is gone was over. Only where that is as good as seen: read shortly before its end, or known to be
 * raised no more. The hash has one end, so of several holders it is not known.
 */
function ranOut({ followed, atMs: readMs, leftMs }: LockRecord, gone: Followed, atMs: Millis): boolean {
  if (followed.length !== 1 || leftMs < 0 || atMs < readMs + leftMs) return false;
  return leftMs <= lastMomentMs || gone.lease.state === "not-renewing";
}

export function followQueue(record: LockRecord, { waiters, ...beside }: Beside, atMs: Millis): void {
  const first = beside.firstQueued ?? beside.firstWaiter;
  const { queue: before } = record;
  record.fair ||= beside.queue > 0;
  if (beside.queue + waiters === 0) {
    record.queue = noQueue;
    return;
  }
  const same = before.first === first && before.since.atMs !== null;
  const since = same ? before.since : seenAt(sinceOfNext(before, record.atMs, atMs));
  record.queue = { ours: waiters, java: beside.queue, first, since };
}

/**
 * The first has gone: the next was there no later than the last reading that counted as many. One that came since would be the
 * only one.
 */
function sinceOfNext(before: Queue, beforeMs: Millis, atMs: Millis): Millis {
  return before.first !== null && before.ours + before.java > 1 ? beforeMs : atMs;
}

/** Readings come by the hundred, all of one moment. */
let lastSeen: Moment = { atMs: 0, provenance: "at-least" };

function seenAt(atMs: Millis): Moment {
  if (lastSeen.atMs !== atMs) lastSeen = { atMs, provenance: "at-least" };
  return lastSeen;
}
