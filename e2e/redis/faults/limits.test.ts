import { multiLock } from "@holdfast/multi-lock";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { type RedisNode, type RedisProxy, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { afterEach, expect, it } from "vitest";
import {
  type AskedRecipe,
  expectGranted,
  expectLimitsKept,
  expectOutageHeard,
  quickMs,
} from "../../support/call-limits.js";

const recipes: readonly AskedRecipe<RedisLocks>[] = [
  ["mutex", (locks, name, options) => locks.mutex(name).acquire(options)],
  ["re-entrant mutex", (locks, name, options) => locks.reentrantMutex(name).acquire(options)],
  ["fair mutex", (locks, name, options) => locks.fairMutex(name).acquire(options)],
  ["spin mutex", (locks, name, options) => locks.spinMutex(name).acquire(options)],
  ["read lock", (locks, name, options) => locks.readWriteLock(name).read.acquire(options)],
  ["write lock", (locks, name, options) => locks.readWriteLock(name).write.acquire(options)],
  ["semaphore", (locks, name, options) => locks.semaphore(name, 2).acquire(options)],
  ["permit semaphore", (locks, _name, options) => locks.permitSemaphore("permits").acquire(options)],
  ["election", (locks, name, options) => locks.leaderElection(name).campaign(options)],
  [
    "multi-lock",
    (locks, name, options) =>
      multiLock([locks.mutex(`${name}-1`), locks.mutex(`${name}-2`)]).acquire(options),
  ],
];

interface Stage {
  readonly node: RedisNode;
  readonly link: RedisProxy;
  readonly patient: RedisLocks;
  readonly quick: RedisLocks;
}

const stages: Stage[] = [];
afterEach(async () => {
  for (const { node, link, patient, quick } of stages.splice(0)) {
    await link.setMode("ok");
    await Promise.all([patient, quick].map((locks) => locks.close({ releaseTimeoutMs: 200 })));
    await link.close();
    await node.stop();
  }
});

async function stage(): Promise<Stage> {
  const node = await startRedis();
  const link = await startRedisProxy({ target: { host: "127.0.0.1", port: node.port } });
  const common = { url: `redis://127.0.0.1:${link.port}`, releaseTimeoutMs: 30_000 };
  const patient = redisLocks(common);
  const quick = redisLocks({ ...common, connectTimeoutMs: quickMs });
  const made = { node, link, patient, quick };
  stages.push(made);
  // The short limit is for the calls of the tests. The first connection may take longer on a busy machine.
  await Promise.all([patient.ready(), quick.ready({ waitMs: 20_000 })]);
  await patient.permitSemaphore("permits").setLimit(20);
  return made;
}

const faults: readonly [what: string, begin: (stage: Stage) => unknown][] = [
  ["is frozen", ({ link }) => link.setMode("stall")],
  ["hears and is not heard", ({ link }) => link.setMode("stall-down")],
  ["is heard and does not hear", ({ link }) => link.setMode("stall-up")],
  [
    "is gone, and its port refuses",
    async ({ link }) => {
      await link.setMode("refuse");
      link.resetAll();
    },
  ],
  ["is throttled to 20 bytes a second", ({ link }) => link.setRate(20)],
  ["is read-only, as a replica of another", ({ node }) => node.command("REPLICAOF", "127.0.0.1", "1")],
  [
    "refuses writes for lack of replicas",
    ({ node }) => node.command("CONFIG", "SET", "min-replicas-to-write", "1"),
  ],
];

it.each(faults)("every call keeps its limit while Redis %s", async (_what, begin) => {
  const made = await stage();
  await begin(made);
  await expectLimitsKept(made, recipes);
});

it("every recipe is granted by a Redis with a round trip of 300 ms", async () => {
  const { link, patient } = await stage();
  link.setDelayMs(150);
  await expectGranted(patient, recipes);
  expect(patient.holds()).toEqual([]);
});

it("a member that leaves a double barrier keeps its limit while its answer is lost, hears of no loss, and may leave again", async () => {
  const { link, patient } = await stage();
  const member = await patient.doubleBarrier("round", 1).enter();
  const { lost } = member;
  await link.setMode("stall-down");
  const begunMs = performance.now();
  await expect(member.leave({ waitMs: 200 })).rejects.toThrow("200");
  expect(performance.now() - begunMs).toBeLessThan(2_000);
  await link.setMode("ok");
  link.resetAll();
  await member.leave({ waitMs: 10_000 });
  expect(lost.aborted).toBe(false);
});

it("who enters a double barrier or waits for a latch keeps the limit while Redis is frozen, and hears of an outage", async () => {
  const made = await stage();
  await made.link.setMode("stall");
  await expectOutageHeard(made);
});

it("a member that enters a double barrier again while Redis is frozen is not counted beside itself", async () => {
  const { link, patient } = await stage();
  const barrier = patient.doubleBarrier("silent", 2);
  await link.setMode("stall");
  await expect(barrier.enter({ waitMs: 100 })).rejects.toMatchObject({ code: "HF_BACKEND" });
  const again = expect(barrier.enter({ waitMs: 1_500 })).rejects.toMatchObject({
    code: "HF_ACQUIRE_TIMEOUT",
  });
  await link.setMode("ok");
  await again;
});
