import type { Millis } from "@holdfast/core";
import { isOurs, parseOwner } from "@holdfast/redis-recipes/internal";
import { heldForMs } from "../kit/moment.js";
import type { CollectorEvent, HoldOwner, StoryOptions } from "../observe/collector.js";
import type { ClientIdentity, Moment } from "../observe/observed-lock.js";
import { LeaseHistory } from "./lease-history.js";
import { type Followed, type LockRecord, noQueue, type Queue } from "./lock-record.js";
import { grantedAt, ownerIn } from "./owner-words.js";
import type { Beside, HashField, Reading } from "./reading.js";

/** What the functions that follow holders and queues need from the rest of the collector. */
export interface FollowingParts {
  readonly emit: (event: CollectorEvent) => void;
  readonly identityOf: (uuid: string) => ClientIdentity | null;
  /** Wall time since which the connection to the master of this lock has not been interrupted. */
  readonly contactSinceMs: (key: string) => Millis;
  /** Wall time since which passes have looked at all keys of this lock's master; `Infinity` before the first whole pass. */
  readonly watchedSinceMs: (key: string) => Millis;
  readonly earlierSight: NonNullable<StoryOptions["earlierSight"]>;
}

/** Takes over the holders of a reading and emits which holds began and ended. Returns whether a lease was renewed. */
export function followHolders(
  record: LockRecord,
  reading: Reading,
  known: boolean,
  { emit, identityOf, contactSinceMs, watchedSinceMs, earlierSight }: FollowingParts,
): boolean {
  const { shape, atMs, readMs, leftMs, token } = reading;
  const before = record.followed;
  const fields: readonly HashField[] = shape.is === "lock" ? shape.fields : [];
  const partly = shape.is === "lock" && shape.partly === true;
  const wasPartly = record.shape.is === "lock" && record.shape.partly === true;
  for (const gone of before) {
    if (fields.some((each) => each.field === gone.field)) continue;
    if (partly) {
      // The hold may be in the part that was not read.
      emit({ type: "unwatched", key: record.key, entry: gone.field });
      continue;
    }
    const expired = ranOut(record, gone, readMs);
    // A server that was restarted or took over from another may have lost the key, whatever the holder did.
    const watched = record.atMs >= contactSinceMs(record.key);
    emit({
      type: "released",
      key: record.key,
      entry: gone.field,
      atMs,
      token: record.token,
      heldMs: heldForMs(gone.since, atMs),
      ranOut: expired,
      end: expired ? "expired" : watched && hadTimeLeft(record, reading) ? "released" : "unknown",
      owner: ownerOf(gone.field, record.token, identityOf),
    });
  }
  let raised = false;
  const followed = fields.map(({ field, count }): Followed => {
    const old = before.find((each) => each.field === field);
    if (old !== undefined) {
      old.count = count;
      // The end of the hash is the end of its only holder's lease. Of several readers, each has a lease of its own.
      if (fields.length === 1) raised = old.lease.read(leftMs, reading) || raised;
      return old;
    }
    const alone = shape.is === "lock" && (shape.mode === null || field.endsWith(":write"));
    const owner = ownerOf(field, token, identityOf);
    const granted = alone ? grantedAt(field, token, atMs) : null;
    const begins = known && !partly && !wasPartly;
    const since = granted ?? (begins ? seenAt(atMs) : foundAt(record.key, field, owner.token, atMs));
    const told = { key: record.key, entry: field, owner };
    // A lock that is new here is reported as granted only if its token shows that the lock was already watched at the grant.
    // The token must also be a new one: an old one shows that the key could only not be read for a while.
    const isNew = granted !== null && (granted.atMs ?? 0) >= watchedSinceMs(record.key);
    if (begins || (isNew && token !== record.highestToken)) {
      const waitedMs = waitOf(record.queue, field, since.atMs ?? atMs);
      emit({
        type: "granted",
        ...told,
        atMs: since.atMs ?? atMs,
        token: owner.token,
        heldMs: null,
        exact: granted !== null,
        ...(waitedMs === null ? {} : { waitedMs }),
      });
    } else emit({ type: "found", ...told, since });
    return { field, count, since, lease: new LeaseHistory(leftMs, readMs) };
  });
  record.shape = shape.is === "lock" ? { ...shape, fields: followed } : shape;
  return raised;

  /** An owner of Redisson may take the same lock again: only a token shows that the grant is the same. */
  function foundAt(key: string, field: string, own: string | null, nowMs: Millis): Moment {
    const earlier = own === null ? undefined : earlierSight(key, field);
    const same = earlier !== undefined && earlier.token === own && earlier.atMs < nowMs;
    return same ? { atMs: earlier.atMs, provenance: "at-least" } : seenAt(nowMs);
  }
}

/** `lockToken`: the token of the newest grant. It is the owner's token only where the owner is one of ours. */
export function ownerOf(
  field: string,
  lockToken: string | null,
  identityOf: (uuid: string) => ClientIdentity | null,
): HoldOwner {
  const session = parseOwner(ownerIn(field))?.uuid ?? null;
  return {
    session,
    identity: session === null ? null : identityOf(session),
    token: isOurs(ownerIn(field)) ? lockToken : null,
  };
}

/** The least time for which the owner had been the first in the queue; `null` where it was not seen there. */
function waitOf({ first, since }: Queue, field: string, atMs: Millis): Millis | null {
  if (first === null || since.atMs === null || first.split(" ")[0] !== ownerIn(field)) return null;
  return Math.max(0, atMs - since.atMs);
}

/**
 * A lease that had at most this time left when it was last read, and that is gone after its end, counts as run out. Its
 * holder may have released it in this last moment.
 */
const lastMomentMs: Millis = 1_000;

/**
 * Whether the lease of a holder that is gone had run out. True only where that is as good as seen: the lease was read
 * shortly before its end, or was known not to be renewed any more. The hash has only one end, so of several holders it is
 * not known.
 */
function ranOut({ followed, leftMs, endsFromMs }: LockRecord, gone: Followed, readMs: Millis): boolean {
  if (followed.length !== 1 || leftMs < 0 || readMs < endsFromMs) return false;
  return leftMs <= lastMomentMs || gone.lease.state === "not-renewing";
}

/**
 * Whether the lease of the only holder cannot have run out: since it was read, it can only have been made longer. The
 * monotonic clock of a machine that was suspended has stood still meanwhile, and the wall clock may have been set back. So
 * the longer of both times counts.
 */
function hadTimeLeft(record: LockRecord, { atMs, readMs }: Reading): boolean {
  const sinceMs = Math.max(readMs - record.orderMs, atMs - record.atMs);
  return record.followed.length === 1 && sinceMs < record.endsFromMs - record.orderMs;
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
 * The first waiter has gone. If the last reading counted more than one waiter, the next one was there by then. Otherwise the
 * next one has come since.
 */
function sinceOfNext(before: Queue, beforeMs: Millis, atMs: Millis): Millis {
  return before.first !== null && before.ours + before.java > 1 ? beforeMs : atMs;
}

/** Hundreds of readings have the same moment, so they share one object. */
let lastSeen: Moment = { atMs: 0, provenance: "at-least" };

function seenAt(atMs: Millis): Moment {
  if (lastSeen.atMs !== atMs) lastSeen = { atMs, provenance: "at-least" };
  return lastSeen;
}
