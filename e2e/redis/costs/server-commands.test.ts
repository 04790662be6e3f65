import type { LockHandle } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { expect, it } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";

// This test counts what the server executes: the calls of scripts, and the commands that the scripts call. The other tables
// count what is on the wire.

const server = new OneServer();
/** Longer than the test takes, so that no request is sent only because time has passed. */
const unhurried = { leaseMs: 120_000 };
/** Commands that keep connections up, and commands of this test itself. */
const aside = new Set(["config|resetstat", "hello", "info", "ping"]);

const rows: readonly (readonly [string, number, (locks: RedisLocks, name: string) => Promise<LockHandle>])[] =
  [
    ["mutex", 10, (locks, name) => locks.mutex(name).acquire()],
    ["re-entrant mutex", 10, (locks, name) => locks.reentrantMutex(name).acquire()],
    ["write lock", 12, (locks, name) => locks.readWriteLock(name).write.acquire()],
  ];

/** How often each command was executed. */
async function executed(): Promise<ReadonlyMap<string, number>> {
  const stats = String(await server.node.command("INFO", "commandstats"));
  const all = [...stats.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
  return new Map(
    all.flatMap(([, name = "", calls]) => (aside.has(name) ? [] : [[name, Number(calls)] as const])),
  );
}

it.each(rows)(
  "a free %s is taken and given back by %d commands, the first time and each time",
  async (_what, most, acquire) => {
    const locks = await server.locks(unhurried);
    // The first request of a provider also subscribes, and the first one of each kind loads its scripts.
    await (await locks.mutex("first").acquire({ revocable: true })).release();
    await (await acquire(locks, server.name("first"))).release();
    const name = server.name("counted");
    for (let pair = 0; pair < 3; pair++) {
      await server.node.command("CONFIG", "RESETSTAT");
      expect(await (await acquire(locks, name)).release()).toBe("released");
      const calls = await executed();
      const sum = [...calls.values()].reduce((total, each) => total + each, 0);
      expect(sum, JSON.stringify([...calls])).toBe(most);
    }
  },
);
