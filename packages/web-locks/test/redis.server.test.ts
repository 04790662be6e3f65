import { redisLocks } from "@holdfast/redis-recipes";
import { type RedisNode, startRedis } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { webLocks } from "../src/index.js";
import { standard } from "./standard.js";

let server: RedisNode;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server?.stop());

standard("Redis", async () => {
  const locks = redisLocks({ url: server.url });
  await locks.ready();
  return locks;
});

it("a request whose lock is found gone only when it is given back rejects, although its callback has fulfilled", async () => {
  const locks = redisLocks({ url: server.url });
  const request = webLocks(locks).request("gone", async () => {
    await server.command("DEL", "web-locks/gone");
    return "done";
  });
  await expect(request).rejects.toMatchObject({ code: "HF_LOCK_LOST", value: "done" });
  await locks.close();
});

it("a request whose callback ends after the lease of its lock, before any timer could run, rejects", async () => {
  const locks = redisLocks({ url: server.url, leaseMs: 200 });
  await locks.ready();
  const blocked = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  const request = webLocks(locks).request("late", blocked);
  await expect(request).rejects.toMatchObject({ code: "HF_LOCK_LOST", reason: "lease-expired" });
  await locks.close();
});
