import type { ExtendAnswer, ExtendArgs } from "../../src/scripts/redlock/extend.js";
import type { NodeAnswer } from "../../src/scripts/redlock/identity.js";
import type { VoteAnswer, VoteArgs } from "../../src/scripts/redlock/vote.js";
import { lookAtMutex } from "./mutex-model.js";
import { Wire } from "./wire.js";

export interface VoteKeys {
  readonly lock: string;
  readonly token: string;
  readonly identity: string;
}

/** One voting node. */
export class RedLockModel extends Wire<VoteKeys> {
  vote(args: VoteArgs): VoteAnswer {
    const { space, keys } = this;
    const node = this.#seen(args.guard, args.maxLeaseMs);
    if (this.late(args.notAfterMs)) return { status: "late", ...node };
    const found = lookAtMutex(space, keys.lock);
    if (found.state === "conflict") return { status: "conflict", ...node, found: found.found };
    const last = this.lastToken();
    if (last === null) return { status: "conflict", ...node, found: "token" };
    if (sitsOut(node)) return { status: "quarantined", ...node };
    if (found.state === "held") {
      const pttlMs = space.pttl(keys.lock);
      if (found.holder === args.owner) return { status: "granted", ...node, token: last, pttlMs };
      this.tellKeeper(found.holder);
      return { status: "busy", ...node, pttlMs, holder: found.holder };
    }
    space.hset(keys.lock, args.owner, "1");
    space.expire(keys.lock, args.leaseMs);
    const token = this.grantToken(last, args.tokenTtlMs);
    return { status: "granted", ...node, token, pttlMs: space.pttl(keys.lock) };
  }

  extend(args: ExtendArgs): ExtendAnswer {
    const { space, keys } = this;
    const node = this.#seen(args.guard, args.maxLeaseMs);
    const held = space.type(keys.lock) === "hash" && space.hash(keys.lock).has(args.owner);
    if (held && args.leaseMs > 0 && space.pttl(keys.lock) < args.leaseMs) {
      space.expire(keys.lock, args.leaseMs);
    }
    if (sitsOut(node)) return { status: "quarantined", ...node };
    if (!held) return { status: "gone", ...node };
    const last = this.lastToken();
    if (last !== null && args.floor > last) this.writeToken(args.floor, args.tokenTtlMs);
    return { status: "extended", ...node, pttlMs: space.pttl(keys.lock) };
  }

  /** Writes down the node's run id, and since when it is known. */
  #seen(guard: boolean, maxLeaseMs: number): NodeAnswer {
    const { space, serverMs, runId } = this;
    const { identity } = this.keys;
    if (!guard) return { serverMs, runId, ageMs: -1, longestLeaseMs: 0 };
    const type = space.type(identity);
    if (type !== "none" && type !== "hash") return { serverMs, runId, ageMs: 0, longestLeaseMs: maxLeaseMs };
    const known = type === "none" ? new Map<string, string>() : space.hash(identity);
    const [first, longest] = [known.get("first_seen_ms"), known.get("longest_lease_ms")].map((text) =>
      text === undefined || !/^\d+$/.test(text) ? null : Number(text),
    );
    const longestLeaseMs = Math.max(longest ?? 0, maxLeaseMs);
    const same = known.get("run_id") === runId && first != null && first <= space.nowMs;
    if (!same) {
      space.hset(identity, "run_id", runId);
      space.hset(identity, "first_seen_ms", String(space.nowMs));
    }
    if (!same || longest !== longestLeaseMs) space.hset(identity, "longest_lease_ms", String(longestLeaseMs));
    return { serverMs, runId, ageMs: same ? space.nowMs - first : 0, longestLeaseMs };
  }
}

function sitsOut({ ageMs, longestLeaseMs }: NodeAnswer): boolean {
  return ageMs >= 0 && ageMs < longestLeaseMs;
}
