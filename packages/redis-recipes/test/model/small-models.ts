import type { BarrierKeys, DoubleBarrierKeys, ElectionKeys, MutexKeys } from "../../src/layout/keys.js";
import type { DoubleBarrierAnswer, DoubleBarrierArgs } from "../../src/scripts/barrier/double.js";
import type { GateAnswer, GateArgs } from "../../src/scripts/barrier/gate.js";
import type { LabelAnswer, LabelArgs } from "../../src/scripts/election/label.js";
import type { LatchAnswer, LatchArgs } from "../../src/scripts/latch/count.js";
import type { StandAnswer } from "../../src/scripts/mutex/answers.js";
import type { ReleaseAnswer } from "../../src/scripts/mutex/release.js";
import type { SpinArgs } from "../../src/scripts/spin/acquire.js";
import type { Keyspace } from "./keyspace.js";
import { lookAtMutex } from "./mutex-model.js";
import { numberAt } from "./semaphore-model.js";
import { Wire } from "./wire.js";

export class SpinModel extends Wire<Pick<MutexKeys, "lock" | "token">> {
  acquire(args: SpinArgs): StandAnswer {
    const { space, keys, serverMs } = this;
    const late = this.late(args.notAfterMs);
    if (late) return late;
    const found = lookAtMutex(space, keys.lock);
    if (found.state === "conflict") return { status: "conflict", serverMs, found: found.found };
    const last = this.lastToken();
    if (last === null) return { status: "conflict", serverMs, found: "token" };
    const token = this.raised(last, args.floor, found.state === "held", args.tokenTtlMs);
    if (found.state === "held") {
      const pttlMs = space.pttl(keys.lock);
      if (found.holder === args.owner) return { status: "granted", serverMs, token, pttlMs };
      this.tellKeeper(found.holder);
      return { status: "busy", serverMs, holderPttlMs: pttlMs, holder: found.holder, lastToken: token };
    }
    space.hset(keys.lock, args.owner, "1");
    space.expire(keys.lock, args.leaseMs);
    const granted = this.grantToken(token, args.tokenTtlMs);
    return { status: "granted", serverMs, token: granted, pttlMs: space.pttl(keys.lock) };
  }

  release(owner: string): ReleaseAnswer {
    const { space, keys, serverMs } = this;
    const found = lookAtMutex(space, keys.lock);
    if (found.state !== "held" || found.holder !== owner) return { status: "gone", serverMs };
    space.del(keys.lock);
    return { status: "freed", serverMs, publishError: "" };
  }
}

export class LatchModel extends Wire {
  count(key: string, args: LatchArgs): LatchAnswer {
    const { space, serverMs } = this;
    const late = this.late(args.notAfterMs);
    if (late !== null) return late;
    const found = numberAt(space, key);
    if (typeof found === "string") return { status: "conflict", serverMs, found };
    const before = found ?? 0;
    let count = before;
    if (args.action === "down" && before > 0) count = Math.max(0, before - args.count);
    if (args.action === "set" && before <= 0) count = args.count;
    const changed = args.action === "down" ? before > 0 : args.action === "set" && before <= 0;
    if (changed) {
      if (count === 0) space.del(key);
      else if (args.action === "set") space.set(key, String(count));
      else (space.keys.get(key)?.content as { value: string }).value = String(count);
      if (count === 0) this.tellRedisson(args, "0");
      else if (args.action === "set") this.tellRedisson(args, "1");
    }
    return { status: "counted", serverMs, changed, count: Math.max(0, count), publishError: "" };
  }
}

export function gateModel(space: Keyspace, keys: BarrierKeys, args: GateArgs): GateAnswer {
  const serverMs = space.nowUs / 1000;
  if (args.notAfterMs !== null && serverMs > args.notAfterMs) return { status: "late", serverMs };
  const was = space.type(keys.shut) !== "none";
  const shut = args.action === "read" ? was : args.action === "shut";
  if (shut !== was) {
    if (shut) space.set(keys.shut, "1");
    else space.del(keys.shut);
    space.publish(args.changes, shut ? "1" : "0");
  }
  return { status: "done", serverMs, changed: shut !== was, shut, publishError: "" };
}

export function doubleBarrierModel(
  space: Keyspace,
  keys: DoubleBarrierKeys,
  args: DoubleBarrierArgs,
): DoubleBarrierAnswer {
  const seen = () => JSON.stringify([[...space.zset(keys.members).keys()].sort(), space.type(keys.full)]);
  const first = seen();
  const members = () => space.zset(keys.members);
  for (const [member, till] of members()) if (till <= space.nowMs) space.unscore(keys.members, member);
  if (members().size === 0) space.del(keys.full);
  // For the other members, a dead member that comes back had gone. So its sweep counts as a change.
  const swept = seen();
  let status: DoubleBarrierAnswer["status"] = "done";
  if (args.notAfterMs !== null && space.nowUs > Math.floor(args.notAfterMs * 1000)) {
    status = "late";
  } else if (args.action === "leave") {
    if (!members().has(args.member)) status = "gone";
    space.unscore(keys.members, args.member);
    if (members().size === 0) space.del(keys.full);
  } else if (args.action === "stay" && !members().has(args.member)) {
    status = "gone";
  } else if (args.action !== "read") {
    space.score(keys.members, args.member, space.nowMs + args.aliveMs);
    if (members().size >= args.parties && space.type(keys.full) === "none") space.set(keys.full, "1");
    const keepMs = Math.max(10 * args.aliveMs, Math.min(space.pttl(keys.members), 600_000));
    space.expire(keys.full, keepMs);
    space.expire(keys.members, keepMs);
  }
  if (swept !== first || seen() !== swept) space.publish(args.changes, "1");
  const lists = args.action === "leave" || args.action === "read";
  return {
    status,
    serverMs: space.nowUs / 1000,
    full: space.type(keys.full) !== "none",
    members: [...members().keys()].filter((each) => lists || each === args.member).sort(),
    publishError: "",
  };
}

export function labelModel(space: Keyspace, keys: ElectionKeys, args: LabelArgs): LabelAnswer {
  const serverMs = space.nowUs / 1000;
  const there = new Set([
    ...space.hash(keys.lock).keys(),
    ...space.list(keys.waiters).map((each) => each.split(" ")[0]),
  ]);
  if (!there.has(args.owner)) return { status: "gone", serverMs };
  space.hset(keys.labels, args.owner, args.label);
  if (space.pttl(keys.labels) < args.ttlMs) space.expire(keys.labels, args.ttlMs);
  space.publish(args.changes, "1");
  return { status: "labelled", serverMs, publishError: "" };
}
