import { BackendError, HoldfastError } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const [waitMs, leaseMs, releaseTimeoutMs] = [1_500, 900, 1_000];
/** How late a timer may be on a busy machine. */
const slackMs = 5_000;

let node: RedisNode;
let locks: RedisLocks;

beforeEach(async () => {
  node = await startRedis();
  locks = redisLocks({ url: node.url, leaseMs, releaseTimeoutMs, heartbeatMs: 200, aliveMs: 700 });
  await locks.ready();
});

afterEach(async () => {
  await locks.close({ releaseTimeoutMs: 0 });
  await node.stop();
});

/** The value or the error of `promise`, and when it settled. */
async function settled(promise: Promise<unknown>): Promise<{ outcome: unknown; atMs: number }> {
  const outcome = await promise.catch((error: unknown) => error);
  return { outcome, atMs: performance.now() };
}

describe.each([
  ["killed", () => node.kill()],
  ["frozen", () => node.pause()],
])("a server that is %s", (_how, stop) => {
  it("15: ends every timed acquire within its time and that of its clean-up: with an error, or null for a try that was queued", async () => {
    const held = await locks.mutex("held").acquire();
    const { lost } = held;
    const startedMs = performance.now();
    const waiting = settled(locks.mutex("held").acquire({ waitMs }));
    const trying = settled(locks.mutex("held").tryAcquire({ waitMs }));
    await eventually(async () => Number(await node.command("LLEN", "holdfast_waiters:{held}")) === 2, {
      what: "both to wait",
    });
    await stop();
    const askedMs = performance.now();
    const asked = settled(locks.mutex("free").acquire({ waitMs }));
    const once = settled(locks.mutex("free").tryAcquire());
    const limitMs = waitMs + releaseTimeoutMs + slackMs;

    for (const { outcome, atMs } of [await waiting, await trying]) {
      expect(outcome === null || outcome instanceof HoldfastError).toBe(true);
      expect(atMs - startedMs).toBeLessThan(limitMs);
    }
    expect((await waiting).outcome).toBeInstanceOf(HoldfastError);
    expect((await asked).outcome).toBeInstanceOf(HoldfastError);
    // No server has answered, so the client cannot know whether the lock is taken.
    expect((await once).outcome).toBeInstanceOf(BackendError);
    for (const { atMs } of [await asked, await once]) expect(atMs - askedMs).toBeLessThan(limitMs);
    await eventually(() => lost.aborted, { what: "the loss", withinMs: leaseMs + slackMs });
    expect(locks.holds()).toEqual([]);
  });
});
