import type {
  HoldInfo,
  InspectOptions,
  LockSnapshot,
  ParticipantInfo,
  PrimitiveKind,
  Recognised,
} from "@holdfast/core";
import { permitKeys } from "../../layout/keys.js";
import { parseOwner } from "../../layout/owners.js";
import { type PermitsPicture, permitsInspect } from "../../scripts/inspect/permits.js";
import type { RedisClientState } from "../attempts/client-state.js";
import type { Holds } from "../grants/holds.js";
import { type FieldsKind, keepable, type LockKeys } from "../kinds/kind.js";
import { mostShown } from "../kinds/semaphore.js";
import { boundCall } from "../requests/calls.js";
import { foundElse } from "../requests/foreign-key.js";
import type { Requests } from "../requests/requests.js";

const defaultMaxPending = 1_000;
const unknownSince = { value: null, provenance: "unknown" } as const;

/** What is looked at: its kind and name as the caller gave them, and its keys in Redis. */
export interface Inspected {
  readonly kind: PrimitiveKind;
  readonly name: string;
  readonly keys: LockKeys;
}

/** Uses one script, so that the snapshot shows one moment. Waiters of Redisson's plain lock leave no trace and are missing. */
export async function inspectLock(
  { requests, owners }: RedisClientState,
  { look, hidesWaiters, queued }: FieldsKind,
  { kind, name, keys }: Inspected,
  { maxPending = defaultMaxPending, signal }: InspectOptions,
): Promise<LockSnapshot> {
  signal?.throwIfAborted();
  const call = boundCall(look, keys.lookKeys, { maxPending, holdPrefix: keys.ownerPrefix });
  const { reply } = await requests.run(call);
  const { found, holders, waiting, waitingTotal } = reply;
  const lock = found === "free" || found === "held";
  const there = found === "held" || waitingTotal > 0;
  return {
    name,
    takenAt: new Date(requests.runtime.wallMs()),
    kind: !lock ? (found === "read-write-lock" ? found : null) : there ? kind : null,
    // A reader that died stays in the hash for as long as others keep it.
    held: holders
      .filter(({ mode, pttlMs }) => mode === "exclusive" || pttlMs >= -1)
      .map((holder) => {
        const exclusive = holder.mode === "exclusive" && queued !== undefined;
        const parsed = parseOwner(holder.owner);
        const own = parsed?.uuid === owners.uuid;
        const mayBeKept = exclusive && keepable.has(kind) && parsed?.mayKeep === true;
        return {
          ...participant(holder.owner, holder.label, holder.mode),
          backendId: exclusive ? (queued.fieldOf?.(holder.owner) ?? holder.owner) : holder.owner,
          // The token key may show a token that its provider has reserved for later owners.
          token: mayBeKept ? null : reply.token,
          holdCount: holder.count,
          heldByThisProvider: own,
          remainingMs: holder.pttlMs < 0 ? null : holder.pttlMs,
          // For its own holds core knows whether they are kept.
          kept: mayBeKept && !own ? null : false,
        };
      }),
    pending: waiting.map((waiter, position) => ({
      ...participant(waiter.owner, waiter.label, "exclusive"),
      position,
    })),
    pendingTotal: hidesWaiters ? null : waitingTotal,
  };
}

/** `limit`: how many permits there are in all, for kinds of which only the number of free permits is known. */
export async function inspectPermits(
  { requests, holds }: RedisClientState,
  { kind, name, keys }: Inspected,
  options: InspectOptions,
  limit: number,
): Promise<LockSnapshot> {
  const plain = kind === "semaphore";
  const seen = await lookAtPermits(requests, name, keys.key, { ...options, maxHeld: plain ? 0 : mostShown });
  return {
    name,
    takenAt: new Date(requests.runtime.wallMs()),
    kind: seen.free === null ? null : kind,
    held: plain ? takenOf(holds, keys.key, seen, limit) : leasedOf(seen),
    pending: [],
    // Clients that wait leave no trace.
    pendingTotal: null,
  };
}

/** The limit of a semaphore with leases as Redis keeps it; `null` where none is set. */
export async function permitLimit(requests: Requests, name: string, key: string): Promise<number | null> {
  const { free, heldTotal } = await lookAtPermits(requests, name, key, { maxHeld: 0 });
  return free === null ? null : free + heldTotal;
}

type PermitsSeen = Extract<PermitsPicture, { status: "seen" }>;

async function lookAtPermits(
  requests: Requests,
  name: string,
  key: string,
  { signal, maxHeld }: InspectOptions & { readonly maxHeld: number },
): Promise<PermitsSeen> {
  signal?.throwIfAborted();
  const { permits, grants } = permitKeys(key);
  const { reply } = await requests.run(boundCall(permitsInspect, [permits, grants], { maxHeld }));
  if (reply.status === "seen") return reply;
  throw foundElse(name, key, reply.found, "permits");
}

/** A plain semaphore does not record who has its permits. Known are only how many are taken, and which of them are ours. */
function takenOf(holds: Holds, key: string, { free }: PermitsSeen, limit: number): readonly HoldInfo[] {
  const taken = free === null ? 0 : Math.min(mostShown, Math.max(0, limit - free));
  const own = holds.on(key).flatMap((hold) => hold.permitIds);
  const others = Array.from({ length: Math.max(0, taken - own.length) }, (_, i) => `taken/${i + 1}`);
  return [...own.slice(0, taken), ...others].map((id) => permit(id, null));
}

/** The permits whose lease is not over. The next request gives back the others. */
function leasedOf({ held }: PermitsSeen): readonly HoldInfo[] {
  return held
    .filter(({ leaseLeftMs }) => leaseLeftMs !== 0)
    .map(({ id, leaseLeftMs }) => permit(id, leaseLeftMs < 0 ? null : leaseLeftMs));
}

function permit(id: string, remainingMs: number | null): HoldInfo {
  return {
    ...anonymous(id, "shared"),
    token: null,
    holdCount: 1,
    heldByThisProvider: false,
    remainingMs,
    kept: false,
  };
}

/** `label`: `""` for none. */
export function participant(owner: string, label: string, mode: ParticipantInfo["mode"]): ParticipantInfo {
  const parsed = parseOwner(owner);
  const recognisedAs: Recognised = parsed === null ? "unknown" : parsed.ours ? "holdfast" : "redisson";
  const session = parsed?.uuid ?? null;
  return { ...anonymous(owner, mode), label: label === "" ? null : label, session, recognisedAs };
}

function anonymous(backendId: string, mode: ParticipantInfo["mode"]): ParticipantInfo {
  return {
    owner: null,
    label: null,
    mode,
    backendId,
    session: null,
    address: null,
    recognisedAs: "unknown",
    sinceMs: unknownSince,
  };
}
