import type { LockHandle } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisProxy, type RespEntry } from "@holdfast/test-servers";
import { describe, expect, it } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";

const server = new OneServer();
/** So long that no proof and no renewal comes by the clock while a test counts, unless the test is about them. */
const rare = { leaseMs: 180_000, heartbeatMs: 60_000, aliveMs: 200_000, keepMs: 60_000, maxKeepMs: 120_000 };

const isScript = ({ kind, name }: RespEntry): boolean => kind === "command" && name.startsWith("EVAL");
const passing = (forMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, forMs));
const scripts = (link: RedisProxy): number => link.trace.filter(isScript).length;

/** Takes and releases the lock twice, so that it is kept, and waits until the proof after that is answered. */
async function keep(locks: RedisLocks, name: string): Promise<void> {
  // From this hold on, the provider's first subscription is confirmed.
  await (await locks.mutex(`${name}-before`).acquire({ revocable: true })).release();
  expect(await (await locks.mutex(name).acquire()).release()).toBe("released");
  expect(await (await locks.mutex(name).acquire()).release()).toBe("kept");
  await eventually(async () => (await server.number("GET", `redisson_lock_token:{${name}}`)) > 0, {
    what: "the token key",
  });
}

async function pairs(locks: RedisLocks, name: string, count: number): Promise<LockHandle[]> {
  const handles: LockHandle[] = [];
  for (let pair = 0; pair < count; pair++) {
    const handle = await locks.mutex(name).acquire();
    handles.push(handle);
    expect(await handle.release()).toBe("kept");
  }
  return handles;
}

describe("a kept mutex on Redis", () => {
  it("costs two pairs and one proof, and then no request for 1,000 pairs", async () => {
    const { locks, link } = await server.linked({ ...rare, javaPeers: false });
    const name = server.name("kept");
    await (await locks.mutex(`${name}-before`).acquire({ revocable: true })).release();
    link.reset();
    await (await locks.mutex(name).acquire()).release();
    expect(await (await locks.mutex(name).acquire()).release()).toBe("kept");
    await pairs(locks, name, 1);
    expect(scripts(link)).toBe(4);
    link.reset();
    const handles = await pairs(locks, name, 1_000);
    expect(scripts(link)).toBe(0);
    const tokens = handles.map(({ token }) => token as bigint);
    expect(tokens.every((token, i) => i === 0 || token > (tokens[i - 1] as bigint))).toBe(true);
    expect(handles.every(({ turn }) => turn === 0)).toBe(true);
    // The token of the next grant is above all of them. Java's fenced lock counts on from the same key.
    const other = await (await server.locks()).mutex(name).acquire();
    expect((other.token as bigint) > (tokens.at(-1) as bigint)).toBe(true);
    await other.release();
  });

  it("costs one proof in each heartbeat while it is busy, and none while it lies idle without Java", async () => {
    const heartbeatMs = 400;
    const { locks, link } = await server.linked({ ...rare, heartbeatMs, aliveMs: 2_000, javaPeers: false });
    const name = server.name("busy");
    await keep(locks, name);
    link.reset();
    const beganMs = performance.now();
    while (performance.now() - beganMs < 4 * heartbeatMs) {
      await pairs(locks, name, 50);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const most = (performance.now() - beganMs) / heartbeatMs + 1;
    expect(scripts(link)).toBeGreaterThanOrEqual(2);
    // There is at most one proof for each heartbeat. The turn of the heartbeat sends it, or an owner that found the last proof
    // too old.
    expect(scripts(link)).toBeLessThanOrEqual(Math.ceil(most));
    // One more proof follows for what was lent since the last one. That nothing is sent afterwards can be shown only by letting
    // time pass.
    await passing(2 * heartbeatMs);
    link.reset();
    await passing(3 * heartbeatMs);
    expect(scripts(link)).toBe(0);
    expect(locks.kept()).toHaveLength(1);
  });

  it("is proven with 200 others in one call of each heartbeat while Java may come", async () => {
    const heartbeatMs = 500;
    const { locks, link } = await server.linked({ ...rare, heartbeatMs, aliveMs: 3_000 });
    const names = Array.from({ length: 400 }, (_, i) => server.name(`many-${i}`));
    await (await locks.mutex("before").acquire({ revocable: true })).release();
    for (let pair = 0; pair < 2; pair++) {
      await Promise.all(names.map(async (name) => (await locks.mutex(name).acquire()).release()));
    }
    expect(locks.kept()).toHaveLength(400);
    // Requests are sent in order, so this answer comes after those to all requests of the pairs.
    await locks.mutex("before").inspect();
    link.reset();
    const beganMs = performance.now();
    await eventually(() => scripts(link) >= 8, { what: "four heartbeats", withinMs: 20 * heartbeatMs });
    // Each heartbeat proves the 400 locks in two calls. From the first heartbeat to the fourth there are three periods, less
    // the delay of the first. If a heartbeat needed more calls, eight calls would be there after two periods.
    expect(performance.now() - beganMs).toBeGreaterThan(2.5 * heartbeatMs);
    expect(locks.kept()).toHaveLength(400);
  });

  it("costs nothing extra where names are used once, or in turn with another client", async () => {
    const { locks, link } = await server.linked(rare);
    const other = await server.locks(rare);
    await (await locks.mutex(server.name("before")).acquire({ revocable: true })).release();
    link.reset();
    for (let name = 0; name < 3; name++) await (await locks.mutex(server.name("once")).acquire()).release();
    expect(scripts(link)).toBe(6);
    const name = server.name("in-turn");
    for (let turn = 0; turn < 3; turn++) {
      await (await other.mutex(name).acquire()).release();
      expect(await (await locks.mutex(name).acquire()).release()).toBe("released");
    }
    expect(scripts(link)).toBe(12);
  });

  it("is given up when its link breaks, and its entry is deleted with the next contact", async () => {
    const { locks, link } = await server.linked(rare);
    const name = server.name("cut");
    await keep(locks, name);
    await link.setMode("reset");
    await eventually(() => locks.kept().length === 0, { what: "the keeping to be over" });
    expect(await server.number("EXISTS", name)).toBe(1);
    await link.setMode("ok");
    await eventually(async () => (await server.number("EXISTS", name)) === 0, { what: "the delete" });
  });

  it("is not lent by a keeper that does not hear that an operator has freed it: the next proof says so", async () => {
    const heartbeatMs = 300;
    const locks = await server.locks({ ...rare, heartbeatMs, aliveMs: 2_000, javaPeers: false });
    const name = server.name("deaf");
    await keep(locks, name);
    // An operator frees the lock without a message to its holder, and another client takes it.
    await server.node.command("DEL", name);
    const other = await (await server.locks()).mutex(name).acquire();
    // The last proof has to become too old. Nothing is sent for that, so the test can only let time pass.
    await passing(heartbeatMs + 50);
    const asked = locks.mutex(name).acquire();
    await eventually(async () => (await locks.mutex(name).inspect()).pendingTotal === 1, {
      what: "the keeper in the queue",
    });
    await other.release();
    await (await asked).release({ keep: false });
  });
});
