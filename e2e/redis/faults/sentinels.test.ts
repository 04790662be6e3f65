import { setTimeout as pass } from "node:timers/promises";
import { redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisReplicaSet, startRedisReplicaSet } from "@holdfast/test-servers";
import { afterEach, beforeEach, it, onTestFinished } from "vitest";
import { Crew, leaseMs } from "./crew.js";

let set: RedisReplicaSet;
let crew: Crew;

beforeEach(async () => {
  set = await startRedisReplicaSet({ clientProxies: true });
  const sentinels = { sentinels: set.sentinelAddresses, name: set.name };
  const links = set.nodes.map((node) => set.proxyOf(node));
  crew = await Crew.start([{ sentinels }, { sentinels }, { sentinels }], links);
  await crew.holdAndWait();
  // By then all holds are renewed, and the replicas have the renewals.
  await pass(leaseMs / 2);
});
afterEach(async () => {
  for (const node of set.nodes) if (node.running) node.resume();
  await crew.close();
  await set.stop();
});

it("a killed master: every hold is in doubt at once, and what the next master does not confirm is lost", async () => {
  // The first renewal would notice the end of the connection as well, but is due only after twenty seconds.
  const slow = redisLocks({
    sentinels: { sentinels: set.sentinelAddresses, name: set.name },
    leaseMs: 60_000,
  });
  onTestFinished(async () => {
    await slow.close();
  });
  const handle = await slow.mutex(`slow-${process.pid}`).acquire();
  // With a long time there is no next master yet, so the doubt cannot come from one.
  const untilDown = async (ms: number): Promise<void> => {
    for (const sentinel of set.sentinels)
      await sentinel.command("SENTINEL", "SET", set.name, "down-after-milliseconds", ms);
  };
  await untilDown(60_000);
  await set.killMaster();
  const doubted = () => crew.beliefs.warned === crew.held.length && handle.state === "uncertain";
  await eventually(doubted, { what: "the doubt", withinMs: 5_000 });
  await untilDown(1_000);
  await crew.end();
  await handle.release();
});

it("a frozen master, which another one replaces: all losses are heard of in time, and all waiters are served", async () => {
  const frozen = await set.master();
  await frozen.pause();
  await set.untilMaster({ not: frozen });
  await eventually(() => crew.held.every((hold) => hold.lost || hold.recovered), {
    what: "all holders to know",
    withinMs: 15_000,
  });
  await frozen.resume();
  await crew.end();
});

it("a planned failover: doubt, and then the same holders at the next master", async () => {
  await set.failover();
  await eventually(() => crew.beliefs.warned === crew.held.length, { what: "the doubt", withinMs: 20_000 });
  // The old master may have renewed a lease after the last write that the next master has. The holder is in doubt for all of
  // that time.
  await crew.end("doubt");
});
