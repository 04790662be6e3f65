import { setTimeout as pass } from "node:timers/promises";
import type { RedisLocks, RedisLocksOptions } from "@holdfast/redis-recipes";
import {
  eventually,
  type RedisConnection,
  type RedisNode,
  type RedisProxy,
  startRedis,
  startRedisProxy,
} from "@holdfast/test-servers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { chance } from "../../support/faults/fault-chance.js";
import { share } from "../../support/share.js";
import { Crew, leaseMs } from "./crew.js";

let node: RedisNode;
let links: readonly RedisProxy[];
let crew: Crew;

beforeEach(async () => {
  node = await startRedis({ appendOnly: "always", config: { maxclients: 100 } });
  links = await Promise.all([0, 1, 2].map(() => startRedisProxy({ target: node.address })));
  crew = await crewOf({});
});
afterEach(async () => {
  if (node.running) await node.resume();
  await crew.close();
  await Promise.all(links.map((link) => link.close()));
  await node.stop();
});

function crewOf(options: Pick<RedisLocksOptions, "leaseMs">): Promise<Crew> {
  return Crew.start(
    links.map(({ connectString }) => ({ url: `redis://${connectString}`, ...options })),
    links,
  );
}

/** Replaces the crew by one whose leases outlast an outage, and the start of a server on a busy machine. */
async function patientCrew(): Promise<void> {
  await crew.close();
  crew = await crewOf({ leaseMs: 15_000 });
}

it("a server that is frozen for less than a lease takes nothing from anybody", async () => {
  await patientCrew();
  await crew.holdAndWait();
  await node.pause();
  await pass(leaseMs / 4);
  await node.resume();
  await crew.end();
  expect(crew.beliefs.lost).toBe(0);
});

it("a server that is frozen for longer than the leases: all holders know by their own clock, all waiters are served", async () => {
  await crew.holdAndWait();
  await node.pause();
  await eventually(() => crew.held.every(({ lost }) => lost), {
    what: "all losses to be told",
    withinMs: 10_000,
  });
  await node.resume();
  await crew.end();
});

it("a server that is killed and comes back with all it had: doubt, and then the same holders", async () => {
  await patientCrew();
  await crew.holdAndWait();
  await node.kill();
  await eventually(() => crew.beliefs.warned === crew.held.length, { what: "all to be in doubt" });
  await node.restart();
  await crew.end();
  expect(crew.beliefs.lost).toBe(0);
});

it("a server that comes back empty: all holders hear of their loss, all who wait are served", async () => {
  await crew.holdAndWait();
  await node.kill();
  await node.restart({ data: "none" });
  await crew.setLimit();
  // A waiter may be granted before the old holder has asked again. But the old holder has been in doubt since the server ended.
  await crew.end("doubt");
  expect(crew.held.every(({ lost }) => lost)).toBe(true);
});

it("a hold that was taken away and that only its release finds gone counts as lost", async () => {
  const [locks] = crew.clients as [RedisLocks];
  const place = { name: `gone-${process.pid}`, capacity: 1, share: 1 };
  const handle = await locks.mutex(place.name).acquire();
  const hold = crew.beliefs.begin("its only holder", locks, place, handle);
  await node.command("DEL", place.name);
  await crew.beliefs.release(hold);
  expect(crew.beliefs.lost).toBe(1);
});

it("replies that are lost at random leave no client stuck and no two holders at once", async () => {
  const random = chance("lost replies");
  const turns = share("turns of 3 clients on 6 kinds with lost replies", 4, 100);
  let lost = 0;
  await crew.contend(turns, async () => {
    const link = links[Math.floor(random() * links.length)] as RedisProxy;
    const rule = link.dropReply({ name: ["EVALSHA", "EVAL"], nth: 1 + Math.floor(random() * 5) });
    await pass(20 + 60 * random());
    lost += rule.hits.length;
    rule.release();
  });
  expect(lost).toBeGreaterThan(0);
  await crew.end();
});

it("scripts that are flushed again and again are sent again, and no client notices", async () => {
  const turns = share("turns of 3 clients on 6 kinds with scripts flushed", 4, 200);
  let flushes = 0;
  await crew.contend(turns, async () => {
    await node.flushScripts();
    flushes++;
    await pass(2);
  });
  expect(flushes).toBeGreaterThan(5);
  await crew.end();
  expect(crew.beliefs.lost).toBe(0);
});

it("a storm of connections that takes every place, with ours ended in it, ends with all served", async () => {
  await crew.holdAndWait();
  const storm: RedisConnection[] = [];
  // Opened before the storm takes all places.
  using operator = await node.connect();
  for (let wave = 0; wave < 3; wave++) {
    for (const type of ["normal", "pubsub"])
      await operator.command("CLIENT", "KILL", "TYPE", type, "SKIPME", "YES");
    const opened = Array.from({ length: 120 }, () => node.connect({ timeoutMs: 2_000 }));
    for (const result of await Promise.allSettled(opened)) {
      if (result.status === "fulfilled") storm.push(result.value);
    }
  }
  expect(storm.length).toBeGreaterThan(50);
  await pass(leaseMs / 2);
  for (const connection of storm) connection[Symbol.dispose]();
  await crew.end();
});

it("subscription connections that are killed again and again cost no wake-up", async () => {
  const turns = share("turns of 3 clients on 6 kinds with subscriptions killed", 4, 100);
  let killed = 0;
  await crew.contend(turns, async () => {
    killed += await node.killClients("pubsub");
    await pass(30);
  });
  expect(killed).toBeGreaterThan(0);
  await crew.end();
  expect(crew.beliefs.lost).toBe(0);
});
