import type {
  HoldInfo,
  InspectOptions,
  LockSnapshot,
  ParticipantInfo,
  PrimitiveKind,
  Recognised,
} from "@holdfast/core";
import { mutexKeys } from "../layout/keys.js";
import { parseOwner } from "../layout/owners.js";
import { mutexInspect } from "../scripts/inspect/mutex.js";
import type { LockPicture } from "../scripts/inspect/picture.js";
import type { RedisDesk } from "./desk.js";

export const defaultMaxPending = 1_000;

/** One script, so the picture is of one moment. Waiters of Redisson's plain lock leave no trace and are not in it. */
export async function inspectMutex(
  desk: RedisDesk,
  kind: PrimitiveKind,
  name: string,
  key: string,
  options: InspectOptions,
): Promise<LockSnapshot> {
  options.signal?.throwIfAborted();
  const keys = mutexKeys(key);
  const { reply } = await desk.run({
    script: mutexInspect,
    keys: [keys.lock, keys.token, keys.waiters, keys.alive, `${keys.run}:none`],
    args: mutexInspect.args({ maxPending: options.maxPending ?? defaultMaxPending }),
  });
  return lockSnapshot(desk, kind, name, reply);
}

/** What the keys of a lock say, in the words of `inspect`. */
export function lockSnapshot(
  desk: RedisDesk,
  kind: PrimitiveKind,
  name: string,
  picture: LockPicture,
): LockSnapshot {
  const { found, holders, waiting, waitingTotal } = picture;
  const lock = found === "free" || found === "held";
  const there = found === "held" || waitingTotal > 0;
  return {
    name,
    takenAt: new Date(desk.runtime.wallMs()),
    kind: !lock ? (found === "read-write-lock" ? found : null) : there ? kind : null,
    held: holders.map(
      (holder): HoldInfo => ({
        ...participant(holder.owner, holder.label, holder.mode),
        token: picture.token,
        holdCount: holder.count,
        heldByThisProvider: parseOwner(holder.owner)?.uuid === desk.uuid,
        remainingMs: holder.pttlMs < 0 ? null : holder.pttlMs,
      }),
    ),
    pending: waiting.map((waiter, position) => ({
      ...participant(waiter.owner, waiter.label, "exclusive"),
      position,
    })),
    pendingTotal: waitingTotal,
  };
}

function participant(owner: string, label: string, mode: ParticipantInfo["mode"]): ParticipantInfo {
  const parsed = parseOwner(owner);
  const recognisedAs: Recognised = parsed === null ? "unknown" : parsed.ours ? "holdfast" : "redisson";
  return {
    owner: null,
    label: label === "" ? null : label,
    mode,
    backendId: owner,
    session: parsed?.uuid ?? null,
    address: null,
    recognisedAs,
    sinceMs: { value: null, provenance: "unknown" },
  };
}
