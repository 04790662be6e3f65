import {
  type HoldInfo,
  type InspectOptions,
  LayoutConflictError,
  type LockSnapshot,
  type PrimitiveKind,
  UnsupportedError,
} from "@holdfast/core";
import { permitKeys } from "../../layout/keys.js";
import { type PermitsPicture, permitsInspect } from "../../scripts/inspect/permits.js";
import type { RedisDesk } from "../desk.js";
import { permitRenewals, permitTakes } from "../permit/permits.js";
import { PolledAttempt } from "../polled-attempt.js";
import type { Recipe } from "../recipe.js";
import { PermitWishes } from "./permit-wishes.js";
import { markerRenewals, mostShown, semaphoreTakes } from "./semaphore.js";

/** Redisson's `RSemaphore`: `plainSemaphore()`. */
export function semaphoreRecipe(desk: RedisDesk): Recipe {
  const renewal = markerRenewals();
  const wishes = new PermitWishes(desk);
  return {
    attempt(request, key, listener) {
      const initial = numberIn(request.limit, request.name);
      const { permits } = request;
      const takes = semaphoreTakes(desk, renewal, request.name, key, { permits, initial }, wishes);
      return new PolledAttempt(desk, takes, request, listener);
    },
    requestRevoke: (_name, key) => wishes.ask(key),
    async inspect(name, key, options, limit = 0) {
      const seen = await look(desk, name, key, options, 0);
      // Nobody writes down who takes: known are how many are gone, and which of them are ours.
      const taken = seen.free === null ? 0 : Math.min(mostShown, Math.max(0, limit - seen.free));
      const own = desk.holds.on(key).flatMap((hold) => hold.permitIds);
      const others = Array.from({ length: Math.max(0, taken - own.length) }, (_, i) => `taken/${i + 1}`);
      const held = [...own.slice(0, taken), ...others].map((id) => permit(id, null));
      return snapshot(desk, "semaphore", name, seen, held);
    },
  };
}

/** Redisson's `RPermitExpirableSemaphore`: `permitSemaphore()`, and `semaphore()`, which says how many permits there are. */
export function permitSemaphoreRecipe(desk: RedisDesk): Recipe {
  const renewal = permitRenewals();
  const wishes = new PermitWishes(desk);
  return {
    attempt(request, key, listener) {
      const limit = numberIn(request.limit, request.name);
      const { permits } = request;
      const takes = permitTakes(desk, renewal, request.name, key, { permits, limit }, wishes);
      return new PolledAttempt(desk, takes, request, listener);
    },
    requestRevoke: (_name, key) => wishes.ask(key),
    async inspect(name, key, options) {
      const seen = await look(desk, name, key, options, mostShown);
      // Those that are over are given back by the next who asks.
      const held = seen.held.filter((each) => each.leaseLeftMs !== 0);
      return snapshot(
        desk,
        "permit-semaphore",
        name,
        seen,
        held.map((each) => permit(each.id, each.leaseLeftMs < 0 ? null : each.leaseLeftMs)),
      );
    },
    limit: async (name, key) => {
      const { free, heldTotal } = await look(desk, name, key, {}, 0);
      return free === null ? null : free + heldTotal;
    },
  };
}

function numberIn(limit: unknown, name: string): number | null {
  if (limit === null || typeof limit === "number") return limit;
  throw new UnsupportedError(`Redis has no counters that could be the limit of "${name}": give a number`, {
    lockName: name,
    backend: "redis",
  });
}

type Seen = Extract<PermitsPicture, { status: "seen" }>;

async function look(
  desk: RedisDesk,
  name: string,
  key: string,
  options: InspectOptions,
  maxHeld: number,
): Promise<Seen> {
  options.signal?.throwIfAborted();
  const layout = permitKeys(key);
  const { reply } = await desk.run({
    script: permitsInspect,
    keys: [layout.permits, layout.grants],
    args: permitsInspect.args({ maxHeld }),
  });
  if (reply.status === "seen") return reply;
  throw new LayoutConflictError(
    `the key ${JSON.stringify(key)} holds something else (${reply.found}) than permits`,
    { lockName: name, backend: "redis" },
  );
}

function permit(id: string, remainingMs: number | null): HoldInfo {
  return {
    owner: null,
    label: null,
    mode: "shared",
    backendId: id,
    session: null,
    address: null,
    recognisedAs: "unknown",
    sinceMs: { value: null, provenance: "unknown" },
    token: null,
    holdCount: 1,
    heldByThisProvider: false,
    remainingMs,
  };
}

function snapshot(
  desk: RedisDesk,
  kind: PrimitiveKind,
  name: string,
  seen: Seen,
  held: readonly HoldInfo[],
): LockSnapshot {
  return {
    name,
    takenAt: new Date(desk.runtime.wallMs()),
    kind: seen.free === null ? null : kind,
    held,
    pending: [],
    // Whoever waits leaves no trace.
    pendingTotal: null,
  };
}
