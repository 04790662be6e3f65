import type { MutexKeys } from "../../src/layout/keys.js";
import type { StandArgs } from "../../src/scripts/mutex/acquire.js";
import type { Conflict, Gone, Passed, StandAnswer } from "../../src/scripts/mutex/answers.js";
import type { HeartbeatArgs, HeartbeatEntry } from "../../src/scripts/mutex/heartbeat.js";
import type { PassArgs } from "../../src/scripts/mutex/release.js";
import { type Look, Wire } from "./wire.js";

export type { Look };

/** What an owner asks for, of acquire and heartbeat alike. */
interface Ask extends Omit<StandArgs, "notAfterMs"> {
  readonly grantMs: number;
}

/** Queue and hand-off as the rules say, written without a look at the Lua. */
export abstract class QueueModel<K extends MutexKeys = MutexKeys> extends Wire<K> {
  abstract look(owner?: string): Look;
  abstract put(owner: string, leaseMs: number): void;
  /** What Redisson's waiters are told when the lock is freed. */
  abstract freed(): string;

  acquire(args: StandArgs): StandAnswer {
    return this.late(args.notAfterMs) ?? this.stand({ ...args, grantMs: args.leaseMs });
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
    const stood = space.list(keys.waiters).includes(entry);
    if (stood) space.score(keys.alive, ask.owner, space.nowMs + ask.aliveMs);
    const token = this.raised(last, ask.floor, found.state === "held", ask.tokenTtlMs);
    if (found.state === "held" && found.holder === ask.owner) {
      return { status: "granted", serverMs, token, pttlMs: space.pttl(keys.lock) };
    }
    if (found.state === "free") {
      const head = this.liveHead();
      if (head === null || head.owner === ask.owner) {
        if (stood) {
          space.pull(keys.waiters, entry);
          space.unscore(keys.alive, ask.owner);
        }
        this.put(ask.owner, ask.grantMs);
        const granted = this.grantToken(token, ask.tokenTtlMs);
        if (ask.changes !== "") space.publish(ask.changes, "1");
        return { status: "granted", serverMs, token: granted, pttlMs: space.pttl(keys.lock) };
      }
    }
    const refused = {
      serverMs,
      holderPttlMs: space.pttl(keys.lock),
      holder: found.state === "held" ? found.holder : "",
      lastToken: token,
    };
    if (!ask.mayWait) return { status: "busy", ...refused };
    if (!stood) {
      space.push(keys.waiters, entry);
      space.score(keys.alive, ask.owner, space.nowMs + ask.aliveMs);
    }
    this.touch(ask.aliveMs);
    const position = space.list(keys.waiters).indexOf(entry);
    return { status: "queued", ...refused, position, appended: !stood };
  }

  protected pass(args: PassArgs): Passed {
    const { space, keys, serverMs } = this;
    const last = this.lastToken();
    const run = Number(/^\d+$/.exec(space.string(keys.run) ?? "")?.[0] ?? 0);
    const head = this.liveHead();
    space.del(keys.lock);
    const bounded = args.maxDirectRun >= 0 && run >= args.maxDirectRun;
    if (head !== null && last !== null && !bounded) {
      space.shift(keys.waiters);
      space.unscore(keys.alive, head.owner);
      this.put(head.owner, Math.min(args.claimMs, head.leaseMs));
      const token = this.grantToken(last, args.tokenTtlMs);
      space.set(keys.run, String(run + 1));
      this.touch(args.aliveMs);
      this.tell(head.owner, {
        type: "granted",
        token: String(token),
        pttl: String(space.pttl(keys.lock)),
        at: String(space.nowUs),
        run: this.runId,
      });
      if (args.changes !== "") space.publish(args.changes, "1");
      return { status: "handed", serverMs, next: head.owner, publishError: "" };
    }
    space.del(keys.run);
    this.onPlain(args, head !== null);
    if (head !== null) this.touch(args.aliveMs);
    this.tellRedisson(args, this.freed());
    this.nudge(head);
    if (args.changes !== "") space.publish(args.changes, "1");
    return { status: "freed", serverMs, next: head?.owner ?? "", publishError: "" };
  }

  /** More that a plain release does. */
  protected onPlain(_args: PassArgs, _waiting: boolean): void {}

  protected gone(): Gone {
    return { status: "gone", serverMs: this.serverMs };
  }

  protected conflict(found: string): Conflict {
    return { status: "conflict", serverMs: this.serverMs, found };
  }

  protected liveHead(): { owner: string; leaseMs: number } | null {
    const { space, keys } = this;
    for (let dropped = 0; dropped < 64; dropped++) {
      const [first] = space.list(keys.waiters);
      if (first === undefined) return null;
      const [owner, lease] = first.split(" ") as [string, string];
      if ((space.zset(keys.alive).get(owner) ?? 0) > space.nowMs) return { owner, leaseMs: Number(lease) };
      space.shift(keys.waiters);
      space.unscore(keys.alive, owner);
    }
    return null;
  }

  protected touch(aliveMs: number): void {
    for (const key of [this.keys.waiters, this.keys.alive, this.keys.run]) {
      this.space.expire(key, 10 * aliveMs);
    }
  }

  protected nudge(head: { owner: string } | null): void {
    if (head !== null) this.tell(head.owner, { type: "nudge" });
  }
}
