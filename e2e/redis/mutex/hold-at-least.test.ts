import type { Acquirable } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";

const server = new OneServer();
const leaseMs = 1_000;
const holdAtLeastMs = 2_500;

/** The methods that all kinds here have. */
type Taken = Pick<Acquirable, "acquire" | "tryAcquire">;

const kinds: readonly (readonly [kind: string, lockOf: (locks: RedisLocks, name: string) => Taken])[] = [
  ["mutex", (locks, name) => locks.mutex(name)],
  ["fair mutex", (locks, name) => locks.fairMutex(name)],
  ["spin mutex", (locks, name) => locks.spinMutex(name)],
  ["write lock", (locks, name) => locks.readWriteLock(name).write],
  ["re-entrant mutex", (locks, name) => locks.reentrantMutex(name)],
];

it("a process that is gone after its release leaves a lease that lasts for holdAtLeastMs", async () => {
  const { locks, link } = await server.linked({ leaseMs });
  const other = await server.locks();
  const startedMs = performance.now();
  const names = kinds.map(([kind]) => server.name(kind));
  for (const [i, [, lockOf]] of kinds.entries()) {
    const handle = await lockOf(locks, names[i] as string).acquire({ holdAtLeastMs });
    expect(await handle.release()).toBe("still-held");
  }
  const lease = (name: string): Promise<number> => server.number("PTTL", name);
  for (const name of names) {
    await eventually(async () => (await lease(name)) > leaseMs, { what: `the extended lease of ${name}` });
    const leftMs = await lease(name);
    expect(leftMs).toBeLessThanOrEqual(holdAtLeastMs * 1.02 + 10);
    expect(performance.now() - startedMs + leftMs).toBeGreaterThanOrEqual(holdAtLeastMs);
  }
  await link.setMode("hole");
  for (const [i, [kind, lockOf]] of kinds.entries()) {
    const next = await lockOf(other, names[i] as string).acquire();
    expect(performance.now() - startedMs, kind).toBeGreaterThanOrEqual(holdAtLeastMs);
    await next.release();
  }
});
