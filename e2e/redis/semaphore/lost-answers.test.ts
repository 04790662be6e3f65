import { BackendError } from "@holdfast/core";
import { type RedisLocks, redisLocks } from "@holdfast/redis-recipes";
import { type RedisProxy, startRedisProxy } from "@holdfast/test-servers";
import { expect, it, onTestFinished } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";

const server = new OneServer();

/** A provider with a link of its own. */
async function linked(): Promise<{ locks: RedisLocks; link: RedisProxy }> {
  const link = await startRedisProxy({ target: { host: "127.0.0.1", port: server.node.port } });
  const locks = redisLocks({ url: `redis://127.0.0.1:${link.port}` });
  onTestFinished(async () => {
    await locks.close();
    await link.close();
  });
  await locks.ready();
  return { locks, link };
}

/** Loses the answer to the next script on `name`: the server executes it, and the connection ends instead of the answer. */
function lose(link: RedisProxy, name: string): void {
  const rule = link.dropReply({ name: ["EVAL", "EVALSHA"], key: name });
  onTestFinished(() => expect(rule.hits).toHaveLength(1));
}

it("a take whose answer is lost takes once, and so does its give-back", async () => {
  const { locks, link } = await linked();
  const name = server.name("take");
  lose(link, name);
  const permit = await locks.plainSemaphore(name, 5).acquire({ permits: 2, waitMs: 10_000 });
  expect(await server.number("GET", name)).toBe(3);
  lose(link, name);
  expect(await permit.release()).toBe("released");
  expect(await server.number("GET", name)).toBe(5);
});

it("a permit whose answer is lost is taken once, and so is it given back", async () => {
  const { locks, link } = await linked();
  const name = server.name("permit");
  const semaphore = locks.permitSemaphore(name);
  await semaphore.setLimit(5);
  lose(link, name);
  const permit = await semaphore.acquire({ permits: 2, waitMs: 10_000 });
  expect(await server.number("GET", name)).toBe(3);
  expect(await server.number("ZCARD", `{${name}}:timeout`)).toBe(2);
  lose(link, name);
  expect(await permit.release()).toBe("released");
  expect(await server.number("GET", name)).toBe(5);
});

it("a countdown whose answer is lost is not sent again, and the error says that it may have counted", async () => {
  const { locks, link } = await linked();
  const name = server.name("latch");
  const latch = locks.countDownLatch(name);
  await latch.trySetCount(5);
  lose(link, name);
  const error = await latch.countDown().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(BackendError);
  expect((error as BackendError).retryable).toBe(false);
  expect(await latch.count()).toBe(4);
});

it("a read whose answer is lost leaves one reader, and nothing after its release", async () => {
  const { locks, link } = await linked();
  const name = server.name("read");
  lose(link, name);
  const read = await locks.readWriteLock(name).read.acquire({ waitMs: 10_000 });
  expect(await server.number("HLEN", name)).toBe(2);
  lose(link, name);
  expect(await read.release()).toBe("released");
  expect(await server.number("EXISTS", name)).toBe(0);
});
