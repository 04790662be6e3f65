import { multiLock } from "@holdfast/multi-lock";
import {
  type EmbeddedZooKeeper,
  startEmbeddedZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";
import { afterEach, expect, it } from "vitest";
import {
  type AskedRecipe,
  expectGranted,
  expectLimitsKept,
  expectOutageHeard,
  quickMs,
} from "../../support/call-limits.js";

const recipes: readonly AskedRecipe<ZooKeeperLocks>[] = [
  ["mutex", (locks, name, options) => locks.mutex(name).acquire(options)],
  ["re-entrant mutex", (locks, name, options) => locks.reentrantMutex(name).acquire(options)],
  ["read lock", (locks, name, options) => locks.readWriteLock(name).read.acquire(options)],
  ["write lock", (locks, name, options) => locks.readWriteLock(name).write.acquire(options)],
  ["semaphore", (locks, name, options) => locks.semaphore(name, 2).acquire(options)],
  ["semaphore mutex", (locks, name, options) => locks.semaphoreMutex(name).acquire(options)],
  ["naive mutex", (locks, name, options) => locks.naiveMutex(name).acquire(options)],
  ["election", (locks, name, options) => locks.leaderElection(name).campaign(options)],
  [
    "multi-lock",
    (locks, name, options) =>
      multiLock([locks.mutex(`${name}-1`), locks.mutex(`${name}-2`)]).acquire(options),
  ],
];

interface Stage {
  readonly server: EmbeddedZooKeeper;
  readonly link: ZooKeeperProxy;
  readonly patient: ZooKeeperLocks;
  readonly quick: ZooKeeperLocks;
}

const stages: Stage[] = [];
afterEach(async () => {
  for (const { server, link, patient, quick } of stages.splice(0)) {
    server.faults.clear();
    await link.setMode("ok");
    await Promise.all([patient, quick].map((locks) => locks.close({ releaseTimeoutMs: 2_000 })));
    await link.close();
    await server.stop();
  }
});

async function stage(): Promise<Stage> {
  const server = await startEmbeddedZooKeeper();
  const link = await startZooKeeperProxy({ target: server.connectString });
  const common = { connect: `127.0.0.1:${link.port}`, sessionTimeoutMs: 30_000, releaseTimeoutMs: 30_000 };
  const patient = zookeeperLocks(common);
  const quick = zookeeperLocks({ ...common, connectTimeoutMs: quickMs });
  const made = { server, link, patient, quick };
  stages.push(made);
  await Promise.all([patient.ready(), quick.ready()]);
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
  [
    "is read-only",
    ({ server }) => server.faults.on({ times: Infinity }, { do: "answer", err: "NotReadOnly" }),
  ],
  [
    "has no leader",
    ({ server, link }) => {
      server.faults.refuseConnections();
      link.resetAll();
    },
  ],
];

it.each(faults)("every call keeps its limit while ZooKeeper %s", async (_what, begin) => {
  const made = await stage();
  await begin(made);
  await expectLimitsKept(made, recipes);
});

it("every recipe is granted by a ZooKeeper with a round trip of 300 ms", async () => {
  const { link, patient } = await stage();
  link.setDelayMs(150);
  await expectGranted(patient, recipes);
  expect(patient.holds()).toEqual([]);
});

it("who enters a double barrier or waits for a latch keeps the limit while ZooKeeper is frozen, and hears of an outage", async () => {
  const made = await stage();
  await made.link.setMode("stall");
  await expectOutageHeard(made);
});
