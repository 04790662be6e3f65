import { freePort, type RedisNode, startRedis } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import {
  doubleBarrierKeys,
  electionKeys,
  fairKeyList,
  fairKeys,
  mutexKeyList,
  mutexKeys,
  permitKeyList,
  permitKeys,
  readHoldKey,
  readHoldKeyList,
  readWriteKeys,
  semaphoreKeys,
} from "../../src/layout/keys.js";
import { doubleBarrier } from "../../src/scripts/barrier/double.js";
import { electionLabel } from "../../src/scripts/election/label.js";
import { fairAcquire } from "../../src/scripts/fair/acquire.js";
import { fairRelease } from "../../src/scripts/fair/release.js";
import { readWriteInspect } from "../../src/scripts/inspect/read-write.js";
import { latchCount } from "../../src/scripts/latch/count.js";
import { mutexAcquire } from "../../src/scripts/mutex/acquire.js";
import { mutexHeartbeat } from "../../src/scripts/mutex/heartbeat.js";
import { mutexRelease } from "../../src/scripts/mutex/release.js";
import { permitRelease } from "../../src/scripts/permit/release.js";
import { permitTake } from "../../src/scripts/permit/take.js";
import { readAcquire } from "../../src/scripts/read-write/read-acquire.js";
import { readRelease } from "../../src/scripts/read-write/read-release.js";
import { readRenew } from "../../src/scripts/read-write/read-renew.js";
import type { Script } from "../../src/scripts/script.js";
import { semaphoreGive } from "../../src/scripts/semaphore/give.js";
import { semaphoreTake } from "../../src/scripts/semaphore/take.js";
import { ourOwners } from "../model/stage.js";

let node: RedisNode;
let redis: Redis;
let ears: Redis;
const heard: string[] = [];

beforeAll(async () => {
  // The default cluster port is 10,000 above the other one, where the kernel takes ports for outgoing connections.
  node = await startRedis({ config: { "cluster-enabled": "yes", "cluster-port": await freePort() } });
  const options = { port: Number(new URL(node.url).port), host: "127.0.0.1", maxRetriesPerRequest: 0 };
  redis = new Redis(options);
  ears = new Redis(options);
  await redis.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
  await vi.waitFor(
    async () => expect(String(await redis.call("CLUSTER", "INFO"))).toContain("cluster_state:ok"),
    30_000,
  );
  ears.on("smessage", (channel, message) => heard.push(`${channel} ${message}`));
});
afterAll(async () => {
  redis?.disconnect();
  ears?.disconnect();
  await node?.stop();
});

const [anna, bert] = ourOwners as [string, string];

test.each(["plain", "a{b}c", "{x}", "a:{b}"])(
  "in a cluster every kind of lock works on %s, and its messages reach sharded subscribers",
  async (name) => {
    const run = async <R>(
      script: Script<R>,
      keys: readonly string[],
      args: readonly (string | number)[],
    ): Promise<R> => script.parse(await redis.eval(script.lua, keys.length, ...keys, ...args));
    const channels = [
      redissonChannels.mutex(name),
      redissonChannels.fairWaiter(name, bert),
      redissonChannels.readWrite(name),
      redissonChannels.semaphore(name),
    ];
    for (const channel of channels) await ears.ssubscribe(channel);
    heard.length = 0;
    const standing = {
      leaseMs: 30_000,
      mayWait: true,
      aliveMs: 3_500,
      notAfterMs: null,
      tokenTtlMs: 1_000,
      floor: 0n,
      changes: "",
      waitMs: 300_000,
    };
    const passing = {
      owner: anna,
      claimMs: 3_000,
      aliveMs: 3_500,
      maxDirectRun: 8,
      tokenTtlMs: 1_000,
      publish: "both" as const,
      changes: "",
      readersTurnMs: 100,
      waitMs: 300_000,
    };

    const lock = mutexKeys(name);
    const list = mutexKeyList(lock);
    const mutexPass = { ...passing, channel: redissonChannels.mutex(name) };
    await run(mutexAcquire, list, mutexAcquire.args({ ...standing, owner: anna }));
    await run(mutexAcquire, list, mutexAcquire.args({ ...standing, owner: bert }));
    const beat = { ...standing, claimMs: 3_000 };
    const entries = [{ owner: bert, leaseMs: 30_000, floor: 0n }];
    expect(await run(mutexHeartbeat, list, mutexHeartbeat.args(beat, entries))).toMatchObject([
      { status: "queued", position: 0 },
    ]);
    expect(await run(mutexRelease, list, mutexRelease.args(mutexPass))).toMatchObject({
      status: "handed",
      publishError: "",
    });
    const freed = await run(mutexRelease, list, mutexRelease.args({ ...mutexPass, owner: bert }));
    expect(freed).toMatchObject({ status: "freed", publishError: "" });

    const fair = fairKeyList(fairKeys(name));
    await run(fairAcquire, fair, fairAcquire.args({ ...standing, owner: anna }));
    await run(fairAcquire, fair, fairAcquire.args({ ...standing, owner: bert }));
    expect(await run(fairRelease, fair, fairRelease.args(mutexPass))).toMatchObject({
      status: "freed",
      publishError: "",
    });

    const rw = readWriteKeys(name);
    const { holdPrefix } = rw;
    const reading = readHoldKeyList(name, anna);
    await run(readAcquire, reading, readAcquire.args({ ...standing, owner: anna, readNumber: 1 }));
    const renewal = readRenew.args(null, [{ field: anna, leaseMs: 60_000 }]);
    expect(await run(readRenew, [rw.lock, rw.token, readHoldKey(name, anna)], renewal)).toMatchObject([
      { status: "renewed" },
    ]);
    expect(
      await run(readWriteInspect, list, readWriteInspect.args({ maxPending: 1, holdPrefix })),
    ).toMatchObject({ found: "held" });
    const channel = redissonChannels.readWrite(name);
    const endRead = readRelease.args({ ...passing, channel, holdPrefix, readNumber: 1 });
    expect(await run(readRelease, reading, endRead)).toMatchObject({ status: "freed", publishError: "" });

    const sc = { publish: "both" as const, channel: redissonChannels.semaphore(name) };
    const { permits, token, markerPrefix } = semaphoreKeys(name);
    const take = { ...standing, owner: anna, permits: 1, initial: 2, markerMs: 60_000 };
    await run(semaphoreTake, [permits, token, markerPrefix + anna], semaphoreTake.args(take));
    const give = semaphoreGive.args({ permits: 1, markerMs: 60_000, ...sc });
    expect(await run(semaphoreGive, [permits, markerPrefix + anna], give)).toMatchObject({
      status: "given",
      free: 2,
      publishError: "",
    });
    await redis.del(permits);
    const permit = permitKeyList(permitKeys(name));
    const ids = ["0a".repeat(16)];
    await run(permitTake, permit, permitTake.args({ ...standing, ...sc, ids, limit: 3 }));
    const ended = await run(permitRelease, permit, permitRelease.args({ ids, ...sc }));
    expect(ended).toMatchObject({ status: "released", inTime: 1, publishError: "" });
    await redis.del(permits);

    const election = electionKeys(name);
    await run(mutexAcquire, mutexKeyList(election), mutexAcquire.args({ ...standing, owner: anna }));
    const label = electionLabel.args({
      owner: anna,
      leaseMs: 30_000,
      label: "one",
      ttlMs: 1_000,
      changes: "c",
    });
    const labelKeys = [election.lock, election.waiters, election.alive, election.labels];
    expect(await run(electionLabel, labelKeys, label)).toMatchObject({
      status: "labelled",
      publishError: "",
    });
    const round = doubleBarrierKeys(name);
    const enter = doubleBarrier.args({
      action: "enter",
      member: "m",
      parties: 1,
      aliveMs: 1_000,
      notAfterMs: null,
      changes: "c",
    });
    expect(await run(doubleBarrier, [round.full, round.members], enter)).toMatchObject({
      full: true,
      publishError: "",
    });

    await expect
      .poll(() => heard)
      .toEqual([
        `${channels[0]} 0`,
        `${channels[1]} 0`,
        `${channels[2]} 0`,
        `${channels[3]} 2`,
        `${channels[3]} 3`,
      ]);
  },
);

test("a latch with a name that is allowed publishes to sharded subscribers when it opens", async () => {
  const channel = redissonChannels.latch("gate");
  await ears.ssubscribe(channel);
  heard.length = 0;
  for (const action of ["set", "down"] as const) {
    const args = latchCount.args({ action, count: 1, publish: "spublish", channel, notAfterMs: null });
    expect(latchCount.parse(await redis.eval(latchCount.lua, 1, "gate", ...args))).toMatchObject({
      changed: true,
      publishError: "",
    });
  }
  await expect.poll(() => heard).toEqual([`${channel} 1`, `${channel} 0`]);
});
