import { setTimeout as sleep } from "node:timers/promises";
import { type LockProvider, systemRuntime } from "@holdfast/core";
import { seededRandom } from "@holdfast/core/testing";
import { redisLocks } from "@holdfast/redis-recipes";
import { eventually, startEmbeddedZooKeeper, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { describe, expect, it, onTestFinished } from "vitest";
import { share } from "../../../e2e/support/share.js";
import { oncePer, type RunReport, runDue, type Schedule } from "../src/index.js";

const replicaCount = 20;
const everyMs = 250;
const dueCount = share("due times of twenty replicas on servers", 12, 240);

interface World extends AsyncDisposable {
  open(): LockProvider;
  /** Breaks the connections of all replicas. Some sessions end too. */
  cut(random: () => number): void;
}

const worlds: { readonly [backend: string]: () => Promise<World> } = {
  ZooKeeper: async () => {
    const server = await startEmbeddedZooKeeper();
    return {
      open: () => zookeeperLocks({ connect: server.connectString, sessionTimeoutMs: 4_000 }),
      cut(random) {
        for (const { id } of server.sessions()) {
          if (random() < 0.2) server.expireSession(id);
          else server.dropConnection(id, { reset: true });
        }
      },
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },
  Redis: async () => {
    const server = await startRedis();
    const proxy = await startRedisProxy({ target: { host: server.host, port: server.port } });
    return {
      open: () => redisLocks({ url: `redis://${proxy.host}:${proxy.port}`, leaseMs: 2_000 }),
      cut: () => proxy.resetAll(),
      async [Symbol.asyncDispose]() {
        await proxy.close();
        await server.stop();
      },
    };
  },
};

describe.each(Object.keys(worlds))(
  "twenty replicas on %s, whose clocks are apart by up to 500 ms",
  (backend) => {
    it("begin each due time once, and miss none but what is reported as lost, while connections break, sessions end and replicas are restarted", async () => {
      const seed = Number(process.env.HOLDFAST_SEED ?? 20_261_127);
      const random = seededRandom(seed);
      await using world = await (worlds[backend] as () => Promise<World>)();
      const begun: number[] = [];
      /**
       * The due times of runs that were reported as lost. A session may end between a claim and its job, which is then not
       * begun. By default such a run is not made again, unless its claim could be taken back.
       */
      const lost = new Set<number>();
      const open = (): { readonly locks: LockProvider; readonly schedule: Schedule } => {
        const locks = world.open();
        const aheadMs = Math.floor(random() * 501) - 250;
        const runtime = { ...systemRuntime, wallMs: () => systemRuntime.wallMs() + aheadMs };
        const options = {
          every: everyMs,
          catchUp: "all",
          runtime,
          onRun: ({ due, outcome }: RunReport) => {
            if (outcome === "lost") lost.add(due.getTime());
          },
          clocksWithinMs: 600,
        } as const;
        const schedule = oncePer(locks, "job", options, async ({ due }) => {
          begun.push(due.getTime());
          await sleep(5);
        });
        return { locks, schedule };
      };
      const close = async ({ locks, schedule }: ReturnType<typeof open>): Promise<void> => {
        await schedule.stop();
        await locks.close();
      };
      const replicas = Array.from({ length: replicaCount }, open);
      await eventually(() => begun.length > 0, { what: "the first run" });
      const first = Math.min(...begun);
      const last = first + (dueCount - 1) * everyMs;
      while (Date.now() < last) {
        await sleep(400 + random() * 800);
        world.cut(random);
        const one = Math.floor(random() * replicaCount);
        await close(replicas[one] as ReturnType<typeof open>);
        replicas[one] = open();
      }
      const expected = Array.from({ length: dueCount }, (_, i) => first + i * everyMs);
      await eventually(() => expected.every((due) => begun.includes(due) || lost.has(due)), {
        what: `each due time to begin or to be reported as lost (seed ${seed})`,
        withinMs: 30_000,
      });
      await Promise.all(replicas.map(close));
      expect(begun.length).toBe(new Set(begun).size);
    });
  },
);

it("a job that ends after the lease of its lock, before any timer could run, is reported as one that lost its lock", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const locks = redisLocks({ url: server.url, leaseMs: 500 });
  onTestFinished(async () => void (await locks.close()));
  await locks.ready();
  const blocked = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  let report: RunReport | null = null;
  // The first call makes the record, from which on due times count.
  while (report === null) report = await runDue(locks, "late-job", { every: 100 }, blocked);
  expect(report).toMatchObject({ outcome: "lost" });
});
