import type { Acquirable } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";

const server = new OneServer();
const leaseMs = 1_000;
const holdAtLeastMs = 4_000;

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
    // The lease is extended once and then runs down, so it is read before the next kind has its turn.
    const leftMs = await eventually(
      async () => {
        const readMs = await server.number("PTTL", names[i] as string);
        return readMs > leaseMs ? readMs : null;
      },
      { what: `the extended lease of ${names[i]}` },
    );
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
