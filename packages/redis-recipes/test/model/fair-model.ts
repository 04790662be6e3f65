import type { FairKeys } from "../../src/layout/keys.js";
import type { FairStandArgs } from "../../src/scripts/fair/acquire.js";
import type { FairCancelArgs, FairCancelEntry } from "../../src/scripts/fair/cancel.js";
import type { FairForceArgs } from "../../src/scripts/fair/force.js";
import type { FairHeartbeatArgs } from "../../src/scripts/fair/heartbeat.js";
import type { FairEndArgs } from "../../src/scripts/fair/release.js";
import { farPlace } from "../../src/scripts/lua/waiters.js";
import type { Passed, StandAnswer } from "../../src/scripts/mutex/answers.js";
import type { CancelAnswer } from "../../src/scripts/mutex/cancel.js";
import type { ForceAnswer } from "../../src/scripts/mutex/force.js";
import type { HeartbeatEntry } from "../../src/scripts/mutex/heartbeat.js";
import type { ReleaseAnswer } from "../../src/scripts/mutex/release.js";
import type { Keyspace } from "./keyspace.js";
import { lookAtMutex } from "./mutex-model.js";
import { type Look, type Publishing, Wire } from "./wire.js";

interface Ask extends Omit<FairStandArgs, "notAfterMs"> {
  readonly queued: boolean;
  readonly grantMs: number;
}

/** Redisson's fair lock as its layout and arithmetic are described, with our liveness beside it. */
export class FairModel extends Wire<FairKeys> {
  acquire(args: FairStandArgs): StandAnswer {
    const late = this.late(args.notAfterMs);
    if (late !== null) return late;
    const queued = this.#stay(args.owner, args.aliveMs);
    this.#sweep(args.waitMs, args.aliveMs);
    return this.#stand({ ...args, queued, grantMs: args.leaseMs });
  }

  heartbeat(common: FairHeartbeatArgs, entries: readonly HeartbeatEntry[]): readonly StandAnswer[] {
    const late = this.late(common.notAfterMs);
    if (late !== null) return entries.map(() => late);
    const queued = entries.map(({ owner }) => this.#stay(owner, common.aliveMs));
    this.#sweep(common.waitMs, common.aliveMs);
    return entries.map((entry, place) =>
      this.#stand({
        ...common,
        ...entry,
        queued: queued[place] === true,
        mayWait: true,
        grantMs: Math.min(common.claimMs, entry.leaseMs),
      }),
    );
  }

  release(args: FairEndArgs): ReleaseAnswer {
    const found = this.#look();
    const head = this.#sweep(args.waitMs);
    if (found.state === "held" && found.holder === args.owner) return this.#free(args, head);
    if (found.state === "free") this.#poke(args, head);
    return { status: "gone", serverMs: this.serverMs };
  }

  cancel({ waitMs, publish }: FairCancelArgs, entries: readonly FairCancelEntry[]): readonly CancelAnswer[] {
    const { serverMs } = this;
    const found = this.#look();
    const [first] = this.space.list(this.keys.queue);
    const removed = entries.map(({ owner }) => this.giveUp(owner, waitMs));
    const head = this.#sweep(waitMs);
    const answers = entries.map(({ owner, channel }, place): CancelAnswer => {
      if (found.state === "held" && found.holder === owner) return this.#free({ publish, channel }, head);
      return { status: removed[place] === true ? "removed" : "none", serverMs, publishError: "" };
    });
    const leader = entries.find(({ owner }) => owner === first);
    if (leader !== undefined && found.state === "free")
      this.#poke({ publish, channel: leader.channel }, head);
    return answers;
  }

  force(args: FairForceArgs): ForceAnswer {
    const { serverMs } = this;
    const found = this.#look();
    if (found.state === "conflict") return { status: "conflict", serverMs, found: found.found };
    if (found.state === "free") return { status: "free", serverMs };
    const { holder } = found;
    if (args.expected !== "" && args.expected !== holder) return { status: "other", serverMs, holder };
    const head = this.#sweep(args.waitMs);
    this.space.del(this.keys.lock);
    const told = this.tell(holder, { type: "stolen" });
    this.#poke(args, head);
    return { status: "forced", serverMs, holder, told, publishError: "" };
  }

  #stay(owner: string, aliveMs: number): boolean {
    const { space, keys } = this;
    const queued = space.list(keys.queue).includes(owner);
    if (queued) space.score(keys.alive, owner, space.nowMs + aliveMs);
    return queued;
  }

  #stand(ask: Ask): StandAnswer {
    const { space, keys, serverMs } = this;
    const found = this.#look();
    if (found.state === "conflict") return { status: "conflict", serverMs, found: found.found };
    const last = this.lastToken();
    if (last === null) return { status: "conflict", serverMs, found: "token" };
    const head = space.list(keys.queue)[0] ?? null;
    const token = this.raised(last, ask.floor, found.state === "held", ask.tokenTtlMs);
    if (found.state === "held" && found.holder === ask.owner) {
      return { status: "granted", serverMs, token, pttlMs: space.pttl(keys.lock) };
    }
    if (found.state === "free" && (head === null || head === ask.owner)) {
      if (head !== null) space.shift(keys.queue);
      space.unscore(keys.deadlines, ask.owner);
      space.unscore(keys.alive, ask.owner);
      for (const [each, score] of space.zset(keys.deadlines))
        space.score(keys.deadlines, each, score - ask.waitMs);
      space.hset(keys.lock, ask.owner, "1");
      space.expire(keys.lock, ask.grantMs);
      const granted = this.grantToken(token, ask.tokenTtlMs);
      return { status: "granted", serverMs, token: granted, pttlMs: space.pttl(keys.lock) };
    }
    const refused = {
      serverMs,
      holderPttlMs: space.pttl(keys.lock),
      holder: found.state === "held" ? found.holder : "",
      lastToken: token,
    };
    if (!ask.mayWait) {
      this.tellKeeper(refused.holder);
      return { status: "busy", ...refused };
    }
    if (ask.queued) {
      this.#raise(ask.owner, ask.waitMs);
    } else {
      const tail = space.list(keys.queue).at(-1);
      const behind =
        tail === undefined || tail === ask.owner ? undefined : space.zset(keys.deadlines).get(tail);
      const base = behind === undefined ? refused.holderPttlMs : behind - space.nowMs;
      space.score(keys.deadlines, ask.owner, space.nowMs + base + ask.waitMs);
      space.push(keys.queue, ask.owner);
      space.score(keys.alive, ask.owner, space.nowMs + ask.aliveMs);
    }
    if (space.pttl(keys.alive) < 9 * ask.aliveMs) space.expire(keys.alive, 10 * ask.aliveMs);
    const position = Math.min(farPlace, space.list(keys.queue).indexOf(ask.owner));
    if (position === 0 || !ask.queued) this.tellKeeper(refused.holder);
    return { status: "queued", ...refused, position, appended: !ask.queued };
  }

  #free(args: Publishing, head: string | null): Passed {
    this.space.del(this.keys.lock);
    this.#poke(args, head);
    return { status: "freed", serverMs: this.serverMs, publishError: "" };
  }

  giveUp(owner: string, waitMs: number): boolean {
    const { space, keys } = this;
    const queue = space.list(keys.queue);
    const place = queue.indexOf(owner);
    const behind = place < 0 ? [] : queue.slice(place + 1);
    for (const each of behind) {
      const score = space.zset(keys.deadlines).get(each);
      if (score !== undefined) space.score(keys.deadlines, each, score - waitMs);
    }
    const out = [
      space.unscore(keys.deadlines, owner),
      space.pull(keys.queue, owner),
      space.unscore(keys.alive, owner),
    ];
    return out.includes(true);
  }

  /**
   * Each waiter of ours whose heartbeats have stopped gives up, one after the other. A Redisson waiter at the head is removed
   * when its deadline is over.
   */
  #sweep(waitMs: number, aliveMs = Infinity): string | null {
    const { space, keys } = this;
    const lapsed = [...space.zset(keys.alive)].filter(([, till]) => till <= space.nowMs);
    for (const [owner] of lapsed) this.giveUp(owner, waitMs);
    for (;;) {
      const [head] = space.list(keys.queue);
      if (head === undefined) return null;
      if (this.isOurs(head)) {
        const till = space.zset(keys.alive).get(head);
        if (till === undefined) {
          this.#giveUpUnheard(waitMs);
          continue;
        }
        const mostMs = space.nowMs + Math.max(60_000, 10 * aliveMs);
        if (till > mostMs) space.score(keys.alive, head, mostMs);
        return head;
      }
      const deadline = space.zset(keys.deadlines).get(head);
      if (deadline === undefined || deadline > space.nowMs) return head;
      space.shift(keys.queue);
      space.unscore(keys.deadlines, head);
    }
  }

  #giveUpUnheard(waitMs: number): void {
    const { space, keys } = this;
    for (const each of [...space.list(keys.queue)]) {
      if (this.isOurs(each) && !space.zset(keys.alive).has(each)) this.giveUp(each, waitMs);
    }
  }

  #raise(owner: string, waitMs: number): void {
    const { space, keys } = this;
    const queue = space.list(keys.queue);
    const place = Math.min(farPlace, queue.indexOf(owner));
    const inNear = place > 0 && place < farPlace;
    const before = inNear ? space.zset(keys.deadlines).get(queue[place - 1] as string) : undefined;
    const soon = space.nowMs + Math.max(0, space.pttl(keys.lock));
    const least = (before ?? (place < farPlace ? soon : soon + farPlace * waitMs)) + waitMs;
    const own = space.zset(keys.deadlines).get(owner);
    if (own === undefined || own < least) space.score(keys.deadlines, owner, least);
  }

  #poke(args: Publishing, head: string | null): void {
    if (head !== null) this.tellRedisson({ ...args, channel: `${args.channel}:${head}` }, "0");
  }

  #look(): Look {
    return lookAtMutex(this.space, this.keys.lock);
  }
}

/** What a Redisson client does to a fair lock, reduced to what matters to us. */
export class JavaFair {
  constructor(
    private readonly space: Keyspace,
    private readonly keys: FairKeys,
  ) {}

  static readonly enqueueLua: string = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 or redis.call('LPOS', KEYS[2], ARGV[1]) then return nowUs end
local tail = redis.call('LINDEX', KEYS[2], -1)
local score = tail and redis.call('ZSCORE', KEYS[3], tail)
local base = score and tonumber(score) - nowMs or redis.call('PTTL', KEYS[1])
redis.call('ZADD', KEYS[3], nowMs + base + ARGV[2], ARGV[1])
redis.call('RPUSH', KEYS[2], ARGV[1])`;

  enqueue(owner: string, waitMs: number): void {
    const { space, keys } = this;
    if (space.hash(keys.lock).has(owner) || space.list(keys.queue).includes(owner)) return;
    const tail = space.list(keys.queue).at(-1);
    const score = tail === undefined ? undefined : space.zset(keys.deadlines).get(tail);
    const base = score === undefined ? space.pttl(keys.lock) : score - space.nowMs;
    space.score(keys.deadlines, owner, space.nowMs + base + waitMs);
    space.push(keys.queue, owner);
  }

  static readonly takeLua: string = `
if redis.call('EXISTS', KEYS[1]) == 1 or redis.call('LINDEX', KEYS[2], 0) ~= ARGV[1] then return nowUs end
redis.call('LPOP', KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
for _, each in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do redis.call('ZINCRBY', KEYS[3], -ARGV[2], each) end
redis.call('HSET', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])`;

  take(owner: string, waitMs: number, leaseMs: number): void {
    const { space, keys } = this;
    if (space.type(keys.lock) !== "none" || space.list(keys.queue)[0] !== owner) return;
    space.shift(keys.queue);
    space.unscore(keys.deadlines, owner);
    for (const [each, score] of space.zset(keys.deadlines)) space.score(keys.deadlines, each, score - waitMs);
    space.hset(keys.lock, owner, "1");
    space.expire(keys.lock, leaseMs);
  }
}
