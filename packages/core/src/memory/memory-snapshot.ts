import type { HoldInfo, InspectOptions, LockSnapshot, ParticipantInfo } from "../api/inspect.js";
import type { Runtime } from "../api/runtime.js";
import type { Millis } from "../api/values.js";
import type { MemoryEntry } from "./memory-space.js";

/** A queue as `inspect` shows it: a semaphore's holder once for each permit, every other entry once. */
export function memorySnapshot(
  name: string,
  queue: readonly MemoryEntry[],
  runtime: Runtime,
  options: InspectOptions,
): LockSnapshot {
  const nowMs = runtime.nowMs();
  const pending = queue.filter((entry) => entry.token === null);
  return {
    name,
    takenAt: new Date(runtime.wallMs()),
    kind: queue[0]?.kind ?? null,
    held: queue.filter((entry) => entry.token !== null).flatMap((entry) => holds(entry, nowMs)),
    pending: pending
      .slice(0, options.maxPending ?? pending.length)
      .map((entry, position) => ({ ...participant(entry, entry.id, nowMs), position })),
    pendingTotal: pending.length,
  };
}

function holds(entry: MemoryEntry, nowMs: Millis): HoldInfo[] {
  const ids = entry.permitIds.length > 0 ? entry.permitIds : [entry.id];
  return ids.map((id) => ({
    ...participant(entry, id, nowMs),
    token: entry.token,
    holdCount: 1,
    heldByThisProvider: false,
    remainingMs: null,
    kept: entry.keepable ? null : false,
  }));
}

function participant(entry: MemoryEntry, id: string, nowMs: Millis): ParticipantInfo {
  return {
    owner: null,
    label: entry.label,
    mode: entry.mode,
    backendId: id,
    session: entry.session,
    address: null,
    recognisedAs: "holdfast",
    sinceMs: { value: nowMs - entry.sinceMs, provenance: "exact" },
  };
}
