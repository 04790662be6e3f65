import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { type RedisNode, type RedisProxy, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { grantRows } from "./rows-grants.js";
import { otherRows } from "./rows-others.js";
import { type Cost, Scene } from "./scene.js";

/** Longer than the rows take, so that no request is sent only because time has passed. */
const unhurried = { leaseMs: 120_000, heartbeatMs: 30_000 };

let server: RedisNode;
let link: RedisProxy;
let ours: RedisLocks;
let rival: RedisLocks;
let names = 0;

beforeAll(async () => {
  server = await startRedis();
  link = await startRedisProxy({ target: { host: server.host, port: server.port } });
  ours = redisLocks({ url: `redis://${link.host}:${link.port}`, ...unhurried });
  rival = redisLocks({ url: server.url, ...unhurried });
  await Promise.all([ours.ready(), rival.ready()]);
  // The first request of a provider subscribes to the messages for its holders and waiters. That happens only once.
  for (const locks of [ours, rival])
    await (await locks.mutex("first").acquire({ revocable: true })).release();
});
afterAll(async () => {
  await ours?.close();
  await rival?.close();
  await link?.close();
  await server?.stop();
});

const figures: string[] = [];
afterAll(() =>
  console.log(["scripts and awaited round trips, ours | awaited by Redisson", ...figures].join("\n")),
);

describe.each([...grantRows, ...otherRows])("$operation", (row) => {
  it(`takes ${row.scripts} scripts, and its caller waits for ${row.awaited} round trips`, async () => {
    const scene = new Scene(ours, rival, link, `cost-${names++}`);
    await row.run(scene);
    const { operation, redisson, run: _run, ...shallBe } = row;
    const { counted } = scene;
    figures.push(`${operation}: ${counted?.scripts} ${counted?.awaited} | ${redisson ?? "-"}`);
    expect(counted, scene.sent).toEqual(shallBe satisfies Cost);
    if (redisson !== undefined) expect(counted?.awaited).toBeLessThanOrEqual(redisson);
  });
});
