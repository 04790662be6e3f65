import { afterAll, beforeAll, expect, it } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";
import { RedisOwnerProcess } from "../../support/redis/redis-owner-process.js";

const server = new OneServer();
const leaseMs = 1_500;
let one: RedisOwnerProcess;
let other: RedisOwnerProcess;

beforeAll(async () => {
  [one, other] = (await RedisOwnerProcess.start(2, server.node.url, { leaseMs })) as [
    RedisOwnerProcess,
    RedisOwnerProcess,
  ];
}, 300_000);

afterAll(async () => {
  await one?.kill();
  await other?.close();
});

it("1: the same explicit owner in two processes is two owners, of whom one holds", async () => {
  const name = server.name("same-owner");
  const owner = "job-42";
  const token = await one.take(name, owner);
  expect(await one.take(name, owner)).toBe(token);
  expect(await other.take(name, owner)).toBeNull();
  expect(await other.take(name, owner, 300)).toBeNull();
  expect(await server.number("HLEN", name)).toBe(1);
  expect([await one.release(name), await one.release(name)]).toEqual(["still-held", "released"]);

  const next = await other.take(name, owner);
  expect(next).toBeGreaterThan(token as bigint);
  expect(await one.take(name, owner)).toBeNull();
  const waiting = one.take(name, owner, 10_000);
  await server.untilLong(`holdfast_waiters:{${name}}`, 1);
  expect(await other.release(name)).toBe("released");
  expect(await waiting).toBeGreaterThan(next as bigint);
  expect(await one.release(name)).toBe("released");
});

it("9: what a killed process held is free once its lease is over, and not before", async () => {
  const name = server.name("killed");
  expect(await one.take(name, "victim")).not.toBeNull();
  const waiting = other.take(name, "heir", 15_000);
  await server.untilLong(`holdfast_waiters:{${name}}`, 1);
  const leftMs = await server.number("PTTL", name);
  const killedMs = performance.now();
  await one.kill();
  // The victim's last renewal may have come after the read of `leftMs`.
  expect(await waiting).not.toBeNull();
  const tookMs = performance.now() - killedMs;
  expect(tookMs).toBeGreaterThan(leftMs - 100);
  expect(tookMs).toBeLessThan(leaseMs + 10_000);
  expect(await other.release(name)).toBe("released");
});
