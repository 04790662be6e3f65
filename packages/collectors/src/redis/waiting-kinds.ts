import type { PrimitiveKind } from "@holdfast/core";
import { isOurs } from "@holdfast/redis-recipes/internal";
import type { Listeners } from "./channels.js";
import { electionPrefix } from "./key-names.js";
import type { LockRecord } from "./lock-record.js";
import { ownerIn } from "./owner-words.js";

/** The kind of a lock, by its keys and the channels that clients listen on. The kind that was known before counts too. */
export function kindOf(record: LockRecord, listeners: Listeners | undefined): PrimitiveKind | null {
  const { key, shape } = record;
  if (key.startsWith("holdfast_double_barrier:")) return "double-barrier";
  if (key.startsWith("holdfast_barrier:")) return "barrier";
  if (key.startsWith(electionPrefix)) return "leader-election";
  if (shape.is === "permits") {
    if ((shape.grants ?? 0) > 0 || record.kind === "permit-semaphore") return "permit-semaphore";
    return listeners !== undefined && listeners.latch > 0 ? "count-down-latch" : "semaphore";
  }
  if (shape.is === "lock" && shape.mode !== null) return "read-write-lock";
  if (record.fair || (listeners?.fair.size ?? 0) > 0) return "fair-mutex";
  if (shape.is === "nothing" && record.kind === "read-write-lock") return "read-write-lock";
  return "mutex";
}

export function hidesWaiters(kind: PrimitiveKind | null): boolean {
  return kind !== "fair-mutex" && kind !== "leader-election";
}

/** The number of connections that listen for this lock and do not belong to participants that are already counted. */
export function foreignListeners(
  kind: PrimitiveKind | null,
  { shape, queue }: LockRecord,
  listeners: Listeners | undefined,
): number {
  if (listeners === undefined) return 0;
  switch (kind) {
    case "fair-mutex":
      return 0;
    case "mutex":
    case "read-write-lock": {
      const all = kind === "mutex" ? listeners.mutex : listeners.readWrite;
      // Our first waiter listens as well while a client of Redisson holds.
      const foreign = shape.is === "lock" && shape.fields.some(({ field }) => !isOurs(ownerIn(field)));
      return Math.max(0, all - (foreign && queue.ours > 0 ? 1 : 0));
    }
    case "semaphore":
    case "permit-semaphore":
      return listeners.semaphore;
    case "count-down-latch":
      return listeners.latch;
    default:
      return 0;
  }
}
