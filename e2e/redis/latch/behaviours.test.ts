import { expect, it } from "vitest";
import { OneServer } from "./one-server.js";

const server = new OneServer();

it("61: a count set where one is stays; at zero the key is gone and the message for Java is published", async () => {
  const name = server.name("latch");
  const locks = await server.locks();
  const latch = locks.countDownLatch(name);
  expect(await latch.trySetCount(2)).toBe(true);
  expect(await latch.trySetCount(3)).toBe(false);
  expect(await server.number("GET", name)).toBe(2);
  expect(await latch.countDown()).toBe(1);
  expect(await latch.countDown()).toBe(0);
  expect(await server.number("EXISTS", name)).toBe(0);
  expect(await latch.countDown()).toBe(0);
  expect(await server.number("EXISTS", name)).toBe(0);
});

it("61: many wait, and a count that Java takes down with its message lets all pass at once", async () => {
  const name = server.name("many");
  const locks = await Promise.all([server.locks(), server.locks()]);
  await locks[0].countDownLatch(name).trySetCount(1);
  const waiting = locks.flatMap((each) =>
    Array.from({ length: 10 }, () => each.countDownLatch(name).wait({ waitMs: 10_000 })),
  );
  await server.node.command("DEL", name);
  await server.node.command("PUBLISH", `redisson_countdownlatch__channel__{${name}}`, 0);
  await Promise.all(waiting);
});

it("61: a lost message holds nobody up for longer than the capped sleep", async () => {
  const name = server.name("mute");
  const latch = (await server.locks()).countDownLatch(name);
  await latch.trySetCount(1);
  const waiting = latch.wait({ waitMs: 10_000 });
  await expect
    .poll(() => server.texts("PUBSUB", "NUMSUB", `redisson_countdownlatch__channel__{${name}}`))
    .toContain("1");
  const startedMs = performance.now();
  await server.node.command("DEL", name);
  await waiting;
  expect(performance.now() - startedMs).toBeLessThan(2_500);
});

it("61: a latch deleted by a Java client wakes nobody wrongly: who waits looks and finds a new count", async () => {
  const name = server.name("anew");
  const latch = (await server.locks()).countDownLatch(name);
  await latch.trySetCount(1);
  let passed = false;
  const waiting = latch.wait({ waitMs: 10_000 }).then(() => {
    passed = true;
  });
  const channel = `redisson_countdownlatch__channel__{${name}}`;
  await expect.poll(() => server.texts("PUBSUB", "NUMSUB", channel)).toContain("1");
  await server.node.command("SET", name, 5);
  await server.node.command("PUBLISH", channel, 1);
  await latch.count();
  expect(passed).toBe(false);
  expect(await latch.countDown(5)).toBe(0);
  await waiting;
});
