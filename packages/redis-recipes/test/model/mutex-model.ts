import type { MutexKeys } from "../../src/layout/keys.js";
import type {
  AcquireAllAnswer,
  AcquireAllArgs,
  AcquireAllEntry,
} from "../../src/scripts/mutex/acquire-all.js";
import type { AskAnswer } from "../../src/scripts/mutex/ask.js";
import type { CancelAnswer, CancelArgs } from "../../src/scripts/mutex/cancel.js";
import type { ForceAnswer, ForceArgs } from "../../src/scripts/mutex/force.js";
import type { ProveAnswer, ProveArgs, ProveEntry } from "../../src/scripts/mutex/prove.js";
import type { ReleaseAnswer, ReleaseArgs } from "../../src/scripts/mutex/release.js";
import type { RenewAnswer, RenewEntry } from "../../src/scripts/mutex/renew.js";
import type { Keyspace } from "./keyspace.js";
import { type Look, QueueModel } from "./queue-model.js";
import { knownToken } from "./wire.js";

/** The plain mutex, with our queue. */
export class MutexModel extends QueueModel {
  look(): Look {
    return lookAtMutex(this.space, this.keys.lock);
  }

  put(owner: string, leaseMs: number): void {
    this.space.hset(this.keys.lock, owner, "1");
    this.space.expire(this.keys.lock, leaseMs);
  }

  freed(): string {
    return "0";
  }

  release(args: ReleaseArgs): ReleaseAnswer {
    const { space, keys } = this;
    if (space.type(keys.lock) !== "hash" || !space.hash(keys.lock).has(args.owner)) return this.gone();
    space.hdel(keys.lock, args.owner);
    // Other fields are left in the hash: the hold was not alone.
    if (space.type(keys.lock) !== "none") return this.gone();
    return this.freedAlone(args) ?? this.pass(args);
  }

  cancel(args: CancelArgs): CancelAnswer {
    const { space, keys } = this;
    const entry = `${args.owner} ${args.leaseMs}`;
    const first = space.list(keys.waiters)[0] === entry;
    const out = [space.pull(keys.waiters, entry), space.unscore(keys.alive, args.owner)];
    if (this.#holds(args.owner)) {
      space.del(keys.lock);
      return this.pass(args);
    }
    const found = this.look();
    // The next waiter has to look again, or to listen to Java.
    if (first && (found.state === "free" || (found.state === "held" && !this.isOurs(found.holder))))
      this.nudge(this.liveHead());
    return { status: out.includes(true) ? "removed" : "none", serverMs: this.serverMs, publishError: "" };
  }

  force(args: ForceArgs): ForceAnswer {
    const { space, keys, serverMs } = this;
    const found = this.look();
    if (found.state === "conflict") return this.conflict(found.found);
    if (found.state === "free") return { status: "free", serverMs };
    const { holder } = found;
    if (args.expected !== "" && args.expected !== holder) return { status: "other", serverMs, holder };
    const head = this.liveHead();
    space.del(keys.lock);
    space.del(keys.run);
    const told = this.tell(holder, { type: "stolen" });
    this.tellRedisson(args, "0");
    this.nudge(head);
    if (args.changes !== "") space.publish(args.changes, "1");
    return { status: "forced", serverMs, holder, told, publishError: "" };
  }

  ask(): AskAnswer {
    const { serverMs } = this;
    const found = this.look();
    if (found.state === "conflict") return this.conflict(found.found);
    if (found.state === "free") return { status: "free", serverMs };
    const holders = [found.holder];
    if (!this.tell(found.holder, { type: "revoke" })) return { status: "foreign", serverMs, holders };
    return { status: "asked", serverMs, holders, publishError: "" };
  }

  /** Acquires all locks in the order of the entries, or none. */
  static acquireAll(
    models: readonly MutexModel[],
    { notAfterMs, tokenTtlMs, aliveMs }: AcquireAllArgs,
    entries: readonly AcquireAllEntry[],
  ): AcquireAllAnswer {
    const [first] = models as [MutexModel];
    const { serverMs } = first;
    const late = first.late(notAfterMs);
    if (late !== null) return late;
    for (const [index, model] of models.entries()) {
      const found = model.look();
      const last = model.lastToken();
      if (found.state === "conflict") return { ...model.conflict(found.found), index };
      if (last === null) return { ...model.conflict("token"), index };
      const holder = found.state === "held" ? found.holder : "";
      if (holder === entries[index]?.owner) continue;
      if (holder === "" && model.liveHead(aliveMs) === null) continue;
      const holderPttlMs = model.space.pttl(model.keys.lock);
      model.tellKeeper(holder);
      return { status: "busy", serverMs, holderPttlMs, holder, lastToken: last, index };
    }
    const grants = models.map((model, index) => {
      const { owner, leaseMs, floor } = entries[index] as AcquireAllEntry;
      const held = model.#holds(owner);
      const last = model.raised(model.lastToken() as bigint, floor, held, tokenTtlMs);
      if (!held) model.put(owner, leaseMs);
      const token = held ? last : model.grantToken(last, tokenTtlMs);
      return { token, pttlMs: model.space.pttl(model.keys.lock) };
    });
    return { status: "granted", serverMs, grants };
  }

  #holds(owner: string): boolean {
    const found = this.look();
    return found.state === "held" && found.holder === owner;
  }
}

export function lookAtMutex(space: Keyspace, lock: string): Look {
  const type = space.type(lock);
  if (type === "none") return { state: "free" };
  if (type !== "hash") return { state: "conflict", found: type };
  const fields = [...space.hash(lock)];
  if (fields.some(([field]) => field === "mode")) return { state: "conflict", found: "read-write-lock" };
  const [only, ...more] = fields;
  if (!only || more.length > 0 || !/^\d+$/.test(only[1])) return { state: "conflict", found: "hash" };
  return { state: "held", holder: only[0] };
}

/** Renews holds in any hash with one field for each holder. */
export function renewModel(
  space: Keyspace,
  entries: readonly (RenewEntry & Pick<MutexKeys, "lock" | "token">)[],
): readonly RenewAnswer[] {
  const serverMs = space.nowUs / 1000;
  return entries.map(({ lock, token, field, leaseMs }) => {
    if (space.type(lock) !== "hash" || !space.hash(lock).has(field)) return { status: "gone", serverMs };
    if (space.pttl(lock) < leaseMs) space.expire(lock, leaseMs);
    const value = space.string(token) ?? "";
    const last = knownToken(value) ?? 0n;
    return { status: "renewed", serverMs, token: last, pttlMs: space.pttl(lock) };
  });
}

type QueueOf = Pick<MutexKeys, "lock" | "token" | "waiters" | "alive">;

/** Proves kept locks, in any hash with one field for each holder. */
export function proveModel(
  space: Keyspace,
  { listens, tokenTtlMs }: ProveArgs,
  entries: readonly (ProveEntry & QueueOf)[],
): readonly ProveAnswer[] {
  return entries.map(({ field, leaseMs, channel, reserves, ...keys }) => {
    const [renewed] = renewModel(space, [{ ...keys, field, leaseMs }]) as [RenewAnswer];
    if (renewed.status === "gone") return renewed;
    const heads = space.list(keys.waiters).filter((entry) => {
      return (space.zset(keys.alive).get(entry.split(" ")[0] as string) ?? 0) > space.nowMs;
    });
    while (space.list(keys.waiters).length > 0 && space.list(keys.waiters)[0] !== heads[0]) {
      const [dead = ""] = space.list(keys.waiters);
      space.shift(keys.waiters);
      space.unscore(keys.alive, dead.split(" ")[0] as string);
    }
    const waited = heads.length > 0;
    const plain = listens === "publish" || listens === "both";
    const listeners = plain ? (space.listeners.get(channel) ?? 0) : 0;
    const text = space.type(keys.token) === "none" ? "0" : (space.string(keys.token) ?? "");
    const above = knownToken(text);
    if (above === null) return { ...renewed, token: 0n, above: 0n, waited, listeners };
    const now = BigInt(space.nowUs);
    const wanted = (above < now ? above : now) + 2n ** 19n;
    if (!reserves || waited || listeners > 0 || wanted <= above)
      return { ...renewed, token: above, above, waited, listeners };
    space.set(keys.token, String(wanted), tokenTtlMs > 0 ? tokenTtlMs : null);
    return { ...renewed, token: wanted, above, waited, listeners };
  });
}
