import { setTimeout as pass } from "node:timers/promises";
import type { LockHandle } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import {
  eventually,
  type RedisNode,
  type RedisProxy,
  startRedis,
  startRedisProxy,
} from "@holdfast/test-servers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { drawn } from "../../support/share.js";

const options = {
  leaseMs: 3_000,
  heartbeatMs: 200,
  aliveMs: 1_400,
  commandTimeoutMs: 500,
  connectTimeoutMs: 30_000,
};

let node: RedisNode;
let link: RedisProxy;
let keeper: RedisLocks;
let other: RedisLocks;

beforeEach(async () => {
  node = await startRedis();
  link = await startRedisProxy({ target: node.address });
  keeper = redisLocks({ ...options, url: `redis://${link.connectString}`, keepMs: 1_000 });
  other = redisLocks({ ...options, url: node.url, keepMs: 1_000 });
  await Promise.all([keeper.ready(), other.ready()]);
});
afterEach(async () => {
  await Promise.all([keeper.close(), other.close()]);
  await link.close();
  await node.stop();
});

/** Owners of two providers on one lock. Each grant is compared with what the other owners believe at that moment. */
class Owners {
  readonly wrong: string[] = [];
  grants = 0;
  readonly #inside = new Set<{ readonly who: string; readonly handle: LockHandle }>();
  #last = 0n;
  #over = false;
  readonly #working: Promise<void>[] = [];

  work(who: string, locks: RedisLocks, restMs: () => number): void {
    this.#working.push(this.#work(who, locks, restMs));
  }

  async end(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#working);
  }

  async #work(who: string, locks: RedisLocks, restMs: () => number): Promise<void> {
    while (!this.#over) {
      const handle = await locks.mutex("wanted").acquire();
      this.grants++;
      for (const each of this.#inside) {
        if (each.handle.state === "held" && handle.state === "held")
          this.wrong.push(`${who} beside ${each.who}`);
      }
      const token = handle.token as bigint;
      if (token <= this.#last) this.wrong.push(`the token ${token} of ${who} came after ${this.#last}`);
      this.#last = token;
      const inside = { who, handle };
      this.#inside.add(inside);
      await pass(Math.random() * 4);
      this.#inside.delete(inside);
      await handle.release();
      await pass(restMs());
    }
  }
}

const faults: Readonly<Record<string, () => Promise<() => unknown>>> = {
  "no message reaches it": async () => {
    const rule = link.dropMessages({ times: 1_000 });
    return () => rule.release();
  },
  "messages reach it late": async () => {
    const rule = link.delayMessages({ times: 1_000, delayMs: 700 });
    return () => rule.release();
  },
  "answers reach it late": async () => {
    const rule = link.delayReply({ times: 1_000, delayMs: 300 });
    return () => rule.release();
  },
  "its connections break": async () => {
    await link.setMode("reset");
    return () => link.setMode("ok");
  },
  "it is cut off in silence": async () => {
    await link.setMode("hole");
    return () => link.setMode("ok");
  },
};

it.each(drawn("faults around a kept lock", Object.keys(faults), 3, String))(
  "a provider that keeps a lock while %s: one owner at a time, rising tokens, and the other provider has its turns",
  async (what) => {
    const owners = new Owners();
    let lent = 0;
    let theirs = 0;
    keeper.events.on("acquire-settled", ({ kept }) => {
      if (kept) lent++;
    });
    other.events.on("acquire-settled", ({ outcome }) => {
      if (outcome === "granted") theirs++;
    });
    for (let owner = 0; owner < 3; owner++)
      owners.work(`keeper's ${owner}`, keeper, () => Math.random() * 20);
    owners.work("the other's", other, () => 100 + Math.random() * 900);
    const turns = async (count: number): Promise<void> => {
      const [mine, before] = [lent + count, theirs + count];
      await eventually(() => lent >= mine && theirs >= before, {
        what: `${count} turns of each`,
        withinMs: 30_000,
      });
    };
    await turns(2);
    const end = await (faults[what] as (typeof faults)[string])();
    const before = theirs;
    await eventually(() => theirs >= before + 2, {
      what: "turns of the other during the fault",
      withinMs: 30_000,
    });
    await end();
    await turns(2);
    await owners.end();
    expect(owners.wrong).toEqual([]);
    expect(owners.grants).toBeGreaterThan(10);
  },
  90_000,
);
