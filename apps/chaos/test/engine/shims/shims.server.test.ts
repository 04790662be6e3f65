import { spawn } from "node:child_process";
import { once } from "node:events";
import { eventually, startRedis, startZooKeeper } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SweptFolder } from "../../../src/engine/machine/swept-folder.js";
import { buildShims, type Shims } from "../../../src/engine/shims/index.js";

const hourMs = 3_600_000;

let folder: SweptFolder;
let shims: Shims;

beforeAll(async () => {
  folder = new SweptFolder("test");
  shims = await buildShims(folder.path);
});

afterAll(() => folder.remove());

test("a Redis' wall clock is turned while it runs, and back; what it counts with it goes along", async () => {
  const handle = shims.handle("redis-clock");
  await using redis = await startRedis({ place: { prefix: handle.prefix } });
  const aheadMs = async (): Promise<number> => {
    const [seconds] = [await redis.command("TIME")].flat();
    return Number(seconds) * 1_000 - Date.now();
  };
  expect(Math.abs(await aheadMs())).toBeLessThan(60_000);
  expect(handle.counts().wallReads).toBe(0);

  await redis.command("SET", "lock", "owner", "PX", hourMs / 2);
  handle.setWallClock(hourMs);
  expect(Math.abs((await aheadMs()) - hourMs)).toBeLessThan(60_000);
  expect(await redis.command("GET", "lock")).toBeNull();
  handle.setWallClock(-2 * hourMs);
  expect(Math.abs((await aheadMs()) + 2 * hourMs)).toBeLessThan(60_000);
  expect(handle.counts().wallReads).toBeGreaterThan(0);
  handle.setWallClock(0);
  expect(Math.abs(await aheadMs())).toBeLessThan(60_000);
});

test("a flush takes as long as the shim says, and ends at once when that is taken back", async () => {
  const handle = shims.handle("redis-disk");
  await using redis = await startRedis({ place: { prefix: handle.prefix }, appendOnly: "always" });
  await redis.command("SET", "a", "1");
  expect(handle.counts().flushes).toBe(0);

  handle.setFsyncDelay(300);
  const beganMs = performance.now();
  await redis.command("SET", "a", "2");
  expect(performance.now() - beganMs).toBeGreaterThanOrEqual(299);
  expect(handle.counts().flushes).toBeGreaterThan(0);

  const before = handle.counts().flushes;
  handle.setFsyncDelay(hourMs);
  using connection = await redis.connect({ timeoutMs: 30_000 });
  const written = connection.command("SET", "a", "3");
  await eventually(() => handle.counts().flushes > before, { what: "the flush to be held up" });
  handle.setFsyncDelay(0);
  expect(await written).toBe("OK");
});

test("a Java server and a Node worker have their wall clocks turned and keep their monotonic ones", async () => {
  const java = shims.handle("zookeeper");
  java.setWallClock(hourMs);
  await using zookeeper = await startZooKeeper({ place: { prefix: java.prefix } });
  expect(await zookeeper.mode()).toBe("standalone");
  expect(java.counts().wallReads).toBeGreaterThan(0);

  const node = shims.handle("node");
  const program = `
    const [wall, steady] = [Date.now(), performance.now()];
    process.stdin.on("data", () => {
      console.log(JSON.stringify({ wall: Date.now() - wall, steady: performance.now() - steady }));
      process.exit(0);
    });
    console.log("up");
  `;
  const child = spawn(process.execPath, ["-e", program], {
    env: { ...process.env, ...node.env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  node.setWallClock(-hourMs);
  child.stdin.write("now\n");
  const [line] = await once(child.stdout, "data");
  const { wall, steady } = JSON.parse(String(line)) as { wall: number; steady: number };
  expect(Math.abs(wall + hourMs)).toBeLessThan(60_000);
  expect(steady).toBeGreaterThanOrEqual(0);
  expect(steady).toBeLessThan(60_000);
});

test("a delay below nothing, and a jump beyond what a clock can tell, are refused", () => {
  const handle = shims.handle("limits");
  expect(() => handle.setFsyncDelay(-1)).toThrow(RangeError);
  expect(() => handle.setWallClock(Number.POSITIVE_INFINITY)).toThrow(RangeError);
  expect(() => handle.setWallClock(Number.NaN)).toThrow(RangeError);
  handle.close();
});
