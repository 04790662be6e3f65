import type { Millis } from "@holdfast/core";
import { isOurs, parseOwner } from "@holdfast/redis-recipes/internal";
import { heldForMs } from "../kit/moment.js";
import type { CollectorEvent, HoldOwner, StoryOptions } from "../observe/collector.js";
import type { ClientIdentity, Moment } from "../observe/observed-lock.js";
import { LeaseHistory } from "./lease-history.js";
import { type Followed, type LockRecord, noQueue, type Queue } from "./lock-record.js";
import { grantedAt, ownerIn } from "./owner-words.js";
import type { Beside, HashField, Reading } from "./reading.js";

/** What following takes from the rest of the collector. */
export interface FollowingParts {
  readonly emit: (event: CollectorEvent) => void;
  readonly identityOf: (uuid: string) => ClientIdentity | null;
  /** Wall time since which the connection to the master of this lock has not been interrupted. */
  readonly contactSinceMs: (key: string) => Millis;
  /** Wall time since which all keys of the master of this lock have been looked for; `Infinity` before the first pass over them. */
  readonly watchedSinceMs: (key: string) => Millis;
  readonly earlierSight: NonNullable<StoryOptions["earlierSight"]>;
}

/** Takes holders over from a reading and emits who came and who went. Returns whether a lease was raised. */
export function followHolders(
  record: LockRecord,
  reading: Reading,
  known: boolean,
  { emit, identityOf, contactSinceMs, watchedSinceMs, earlierSight }: FollowingParts,
): boolean {
  const { shape, atMs, leftMs, token } = reading;
  const before = record.followed;
  const fields: readonly HashField[] = shape.is === "lock" ? shape.fields : [];
  for (const gone of before) {
    if (fields.some((each) => each.field === gone.field)) continue;
    const expired = ranOut(record, gone, atMs);
    // A server that was started again or took over may have lost the key, whatever the holder did.
    const watched = record.atMs >= contactSinceMs(record.key);
    emit({
      type: "released",
      key: record.key,
      entry: gone.field,
      atMs,
      token: record.token,
      heldMs: heldForMs(gone.since, atMs),
      ranOut: expired,
      end: expired ? "expired" : watched && hadTimeLeft(record, atMs) ? "released" : "unknown",
      owner: ownerOf(gone.field, record.token, identityOf),
    });
  }
  let raised = false;
  const followed = fields.map(({ field, count }): Followed => {
    const old = before.find((each) => each.field === field);
    if (old !== undefined) {
      old.count = count;
      // The end of the hash is that of its only holder; of several readers each has its own.
      if (fields.length === 1) raised = old.lease.read(leftMs, reading) || raised;
      return old;
    }
    const alone = shape.is === "lock" && (shape.mode === null || field.endsWith(":write"));
    const owner = ownerOf(field, token, identityOf);
    const granted = alone ? grantedAt(field, token, atMs) : null;
    const since = granted ?? (known ? seenAt(atMs) : foundAt(record.key, field, owner.token, atMs));
    const told = { key: record.key, entry: field, owner };
    // The grant of a lock that is new here is reported as one only if its token shows that the lock was watched by then, and is not one that
    // was seen before its key could not be read for a while.
    const isNew = granted !== null && (granted.atMs ?? 0) >= watchedSinceMs(record.key);
    if (known || (isNew && token !== record.highestToken)) {
      const waitedMs = waitOf(record.queue, field, since.atMs ?? atMs);
      emit({
        type: "granted",
        ...told,
        atMs: since.atMs ?? atMs,
        token: owner.token,
        heldMs: null,
        ...(waitedMs === null ? {} : { waitedMs }),
      });
    } else emit({ type: "found", ...told, since });
    return { field, count, since, lease: new LeaseHistory(leftMs, reading.readMs) };
  });
  record.shape = shape.is === "lock" ? { is: "lock", fields: followed, mode: shape.mode } : shape;
  return raised;

  /** An owner of Redisson may take the same lock again: only a token shows that the grant is the same. */
  function foundAt(key: string, field: string, own: string | null, nowMs: Millis): Moment {
    const earlier = own === null ? undefined : earlierSight(key, field);
    const same = earlier !== undefined && earlier.token === own && earlier.atMs < nowMs;
    return same ? { atMs: earlier.atMs, provenance: "at-least" } : seenAt(nowMs);
  }
}

/** `lockToken`: of the newest grant, which is that of the owner only where it is one of ours. */
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

/** How long the owner had been the first in the list, at least; `null` where it was not seen there. */
function waitOf({ first, since }: Queue, field: string, atMs: Millis): Millis | null {
  if (first === null || since.atMs === null || first.split(" ")[0] !== ownerIn(field)) return null;
  return Math.max(0, atMs - since.atMs);
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

/** Whether the lease of the only holder cannot have been over. A lease is only ever raised beyond what was read. */
function hadTimeLeft({ followed, atMs: readMs, leftMs }: LockRecord, atMs: Millis): boolean {
  return followed.length === 1 && (leftMs === -1 || atMs < readMs + leftMs);
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
