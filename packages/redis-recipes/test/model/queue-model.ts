import type { MutexKeys } from "../../src/layout/keys.js";
import { farPlace } from "../../src/scripts/lua/waiters.js";
import type { StandArgs } from "../../src/scripts/mutex/acquire.js";
import type { Conflict, Gone, Passed, StandAnswer } from "../../src/scripts/mutex/answers.js";
import type { HeartbeatArgs, HeartbeatEntry } from "../../src/scripts/mutex/heartbeat.js";
import type { PassArgs } from "../../src/scripts/mutex/release.js";
import type { StayAnswer, StayArgs } from "../../src/scripts/mutex/stay.js";
import type { Keyspace } from "./keyspace.js";
import { type Look, Wire } from "./wire.js";

export type { Look };

/** What an owner asks for, in an acquire or in a heartbeat. */
interface Ask extends Omit<StandArgs, "notAfterMs"> {
  readonly grantMs: number;
  /** If true, the answer for a new place behind others does not say who holds. */
  readonly short?: boolean;
}

/** Queue and hand-off by the rules, written without looking at the Lua. */
export abstract class QueueModel<K extends MutexKeys = MutexKeys> extends Wire<K> {
  abstract look(owner?: string): Look;
  abstract put(owner: string, leaseMs: number): void;
  /** The message to Redisson's waiters when the lock is freed. */
  abstract freed(): string;

  acquire(args: StandArgs): StandAnswer {
    return this.late(args.notAfterMs) ?? this.stand({ ...args, grantMs: args.leaseMs, short: true });
  }

  heartbeat(common: HeartbeatArgs, entries: readonly HeartbeatEntry[]): readonly StandAnswer[] {
    return entries.map(
      (entry) =>
        this.late(common.notAfterMs) ??
        this.stand({ ...common, ...entry, mayWait: true, grantMs: Math.min(common.claimMs, entry.leaseMs) }),
    );
  }

  protected stand(ask: Ask): StandAnswer {
    const { space, keys, serverMs } = this;
    const found = this.look(ask.owner);
    if (found.state === "conflict") return { status: "conflict", serverMs, found: found.found };
    const last = this.lastToken();
    if (last === null) return { status: "conflict", serverMs, found: "token" };
    const entry = `${ask.owner} ${ask.leaseMs}`;
    const unwaited = space.type(keys.waiters) === "none";
    const stood = space.list(keys.waiters).includes(entry);
    const token = this.raised(last, ask.floor, found.state === "held", ask.tokenTtlMs);
    if (found.state === "held" && found.holder === ask.owner) {
      return { status: "granted", serverMs, token, pttlMs: space.pttl(keys.lock) };
    }
    let turnMs = 0;
    if (found.state === "free") {
      if (stood) space.score(keys.alive, ask.owner, space.nowMs + ask.aliveMs);
      const head = this.liveHead(ask.aliveMs);
      const turn = head === null ? undefined : /j(\d+)$/.exec(space.string(keys.run) ?? "")?.[1];
      turnMs = Math.max(0, Number(turn ?? 0) - space.nowMs);
      if (turnMs > 500) turnMs = 0;
      if (turnMs > 0) {
        // It is Java's turn.
      } else if (head === null || head.owner === ask.owner) {
        const shortWay = ask.short === true && unwaited && ask.changes === "";
        if (!shortWay) {
          space.pull(keys.waiters, entry);
          space.unscore(keys.alive, ask.owner);
        }
        this.put(ask.owner, ask.grantMs);
        const granted = this.grantToken(token, ask.tokenTtlMs);
        if (ask.changes !== "") space.publish(ask.changes, "1");
        const tells = ask.tellsBefore === true && shortWay;
        const before = tells ? { before: last } : {};
        return { status: "granted", serverMs, token: granted, pttlMs: ask.grantMs, ...before };
      }
    }
    const refused = {
      serverMs,
      holderPttlMs: turnMs > 0 ? turnMs : space.pttl(keys.lock),
      holder: found.state === "held" ? found.holder : "",
      lastToken: token,
    };
    const behindKeeper = ask.asksKeeper === true && this.mayBeKept(refused.holder);
    if (!ask.mayWait && !(behindKeeper && this.liveHead() === null)) {
      this.tellKeeper(refused.holder);
      return { status: "busy", ...refused };
    }
    // The list and the sorted set are written together. Their sizes differ only if one of them was lost.
    const added = space.zset(keys.alive).has(ask.owner) ? 0 : 1;
    space.score(keys.alive, ask.owner, space.nowMs + ask.aliveMs);
    const whole = space.list(keys.waiters).length + added === space.zset(keys.alive).size;
    const still = space.list(keys.waiters).includes(entry);
    if (!still) space.push(keys.waiters, entry);
    this.touch(ask.aliveMs, !whole);
    const position = Math.min(farPlace, space.list(keys.waiters).indexOf(entry));
    if (position === 0 || !still) this.tellKeeper(refused.holder);
    const said = ask.short === true && position > 0 && !still ? { holderPttlMs: -1, holder: "" } : {};
    return { status: "queued", ...refused, ...said, position, appended: !still };
  }

  /** Passes the lock on. The caller has deleted what was left of the hold. */
  protected pass(args: PassArgs): Passed {
    const { space, keys, serverMs } = this;
    const last = this.lastToken();
    const [, count, began] = /^(\d+) (\d+)$/.exec(space.string(keys.run) ?? "") ?? [];
    const run = Number(count ?? 0);
    const beganMs = Number(began ?? space.nowMs);
    const head = this.liveHead();
    const bounded = args.maxDirectRun >= 0 && run >= args.maxDirectRun;
    const text = space.string(keys.token);
    // The token text is put back unchanged, but without its time to live.
    if (head?.alive === true && !bounded && last === null && text !== null) space.set(keys.token, text);
    if (head?.alive === true && last !== null && !bounded) {
      space.shift(keys.waiters);
      space.unscore(keys.alive, head.owner);
      this.put(head.owner, Math.min(args.claimMs, head.leaseMs));
      const token = this.grantToken(last, args.tokenTtlMs);
      space.set(keys.run, `${run + 1} ${beganMs}`, 10 * args.aliveMs);
      this.tell(head.owner, {
        type: "granted",
        token: String(token),
        pttl: String(space.pttl(keys.lock)),
        at: String(space.nowUs),
        run: this.runId,
      });
      if (args.changes !== "") space.publish(args.changes, "1");
      return { status: "handed", serverMs, publishError: "" };
    }
    space.del(keys.run);
    const turns = head === null ? [] : [this.ownTurn(args), this.javasTurn(args, beganMs)];
    const turn = turns.filter((each) => each !== "").join(" ");
    if (turn !== "") space.set(keys.run, turn, 10 * args.aliveMs);
    this.tellRedisson(args, this.freed());
    this.nudge(head);
    if (args.changes !== "") space.publish(args.changes, "1");
    return { status: "freed", serverMs, publishError: "" };
  }

  /** The turn of our other clients that may come in after a plain release. */
  protected ownTurn(_args: PassArgs): string {
    return "";
  }

  /** The turn of Java's listeners after a plain release: their number times the time that each client of ours has used. */
  protected javasTurn(args: PassArgs, beganMs: number): string {
    const { space, keys } = this;
    const plain = args.publish === "publish" || args.publish === "both";
    const java = plain ? (space.listeners.get(args.channel) ?? 0) : 0;
    if (java === 0 || args.maxDirectRun < 0) return "";
    const ours = space.list(keys.waiters).length + 1;
    const fairMs = Math.floor(((space.nowMs - beganMs) / ours) * java);
    return `j${space.nowMs + Math.min(500, Math.max(20, fairMs))}`;
  }

  /**
   * The answer of the short way, which does not look at the clock. `null`: a client waits, a run of hand-offs ends only now, or
   * something else than one message to Redisson is to be published.
   */
  protected freedAlone(args: PassArgs): Passed | null {
    const { space, keys } = this;
    if (space.type(keys.waiters) !== "none" || space.type(keys.run) !== "none") return null;
    if (args.changes !== "" || args.publish === "none" || args.publish === "both") return null;
    this.tellRedisson(args, this.freed());
    return { status: "freed", serverMs: 0, publishError: "" };
  }

  protected gone(): Gone {
    return { status: "gone", serverMs: this.serverMs };
  }

  protected conflict(found: string): Conflict {
    return { status: "conflict", serverMs: this.serverMs, found };
  }

  protected liveHead(aliveMs = Infinity): Head | null {
    return liveHeadOf(this.space, this.keys, aliveMs);
  }

  protected touch(aliveMs: number, always: boolean): void {
    if (!always && this.space.pttl(this.keys.waiters) >= 9 * aliveMs) return;
    for (const key of [this.keys.waiters, this.keys.alive, this.keys.run]) {
      if (this.space.pttl(key) < 10 * aliveMs) this.space.expire(key, 10 * aliveMs);
    }
  }

  protected nudge(head: { owner: string } | null): void {
    if (head !== null) this.tell(head.owner, { type: "nudge" });
  }
}

interface Head {
  readonly owner: string;
  readonly leaseMs: number;
  readonly alive: boolean;
}

type QueueKeys = Pick<MutexKeys, "waiters" | "alive">;

/**
 * The first waiter that is alive; dead ones before it are dropped. `alive: false`: after 1,000 dead waiters it is not known
 * whether this one or any waiter behind it is alive. `aliveMs`: the window of the client that asks. The first waiter counts as
 * alive for at most ten such windows, or for a minute if that is longer.
 */
function liveHeadOf(space: Keyspace, keys: QueueKeys, aliveMs = Infinity): Head | null {
  for (let dropped = 0; ; dropped++) {
    const [first] = space.list(keys.waiters);
    if (first === undefined) return null;
    const [owner, lease] = first.split(" ") as [string, string];
    const till = space.zset(keys.alive).get(owner) ?? 0;
    if (dropped === 1_000) return { owner, leaseMs: Number(lease), alive: false };
    if (till > space.nowMs) {
      const mostMs = space.nowMs + Math.max(60_000, 10 * aliveMs);
      if (till > mostMs) space.score(keys.alive, owner, mostMs);
      return { owner, leaseMs: Number(lease), alive: true };
    }
    space.shift(keys.waiters);
    space.unscore(keys.alive, owner);
  }
}

/** Waiters report that they are still there. `locks`: the keys of each entry. */
export function stayModel(
  space: Keyspace,
  locks: readonly Pick<MutexKeys, "lock" | "waiters" | "alive">[],
  { aliveMs, entries }: StayArgs,
): StayAnswer {
  const stays = entries.flatMap(({ look, owners }, index) => {
    const { lock, ...queue } = locks[index] as (typeof locks)[number];
    const { waiters, alive } = queue;
    const ending = space.pttl(waiters) < 5 * aliveMs;
    const whole = space.list(waiters).length === space.zset(alive).size;
    const leftMs = space.pttl(lock);
    const there = new Set(owners.filter((owner) => space.zset(alive).has(owner)));
    for (const owner of there) space.score(alive, owner, space.nowMs + aliveMs);
    const endsSoon = look === "lock" && leftMs >= 0 && leftMs < aliveMs;
    const first = look === "first" || endsSoon ? liveHeadOf(space, queue)?.owner : undefined;
    return owners.map((owner, place) => {
      if (!there.has(owner)) return false;
      if (look === "life") return whole && !(ending && place === 0);
      return owner !== first && !(look === "lock" && leftMs === -2);
    });
  });
  return { serverMs: space.nowUs / 1000, stays };
}
