import type { PermitHandle } from "@holdfast/core";
import { expect, test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { Scene } from "./scene.js";
import { settings } from "./simulated-client.js";

/**
 * One client holds all permits of a pool, each by a handle of its own, and so many of its tasks wait for another. Then as many
 * permits are given back, one after the other. Returns how many tasks were granted one, and how often handles were asked about.
 */
async function contended(permits: number, tasks: number): Promise<{ granted: number; asked: number }> {
  const scene = new Scene();
  const { line, provider } = scene.client();
  let [free, granted, asked] = [permits, 0, 0];
  const told = () => {
    const nowMs = scene.runtime.nowMs();
    return { sentMs: nowMs, answeredMs: nowMs, runId: scene.redis.runId, acknowledged: null };
  };
  const reply = (answer: object) => ({ serverMs: scene.redis.nowUs / 1_000, ...answer }) as never;
  const hold = { token: 7n, pttlMs: settings.leaseMs };
  line.run = async ({ name }) => {
    if (name === "permit-release") {
      line.publish(redissonChannels.semaphore("pool"), String(++free));
      return { ...told(), reply: reply({ ended: true, permits: 1 }) };
    }
    if (free === 0) return { ...told(), reply: reply({ status: "busy", againMs: null }) };
    free--;
    return { ...told(), reply: reply({ status: "granted", ...hold }) };
  };
  line.runAll = (_script, runs) =>
    runs.map(async ({ args }) => {
      // Each entry of a renewal is its lease, how many permits it has, and its permit.
      const entries = args.length / 3;
      asked += entries;
      const renewed = Array.from({ length: entries }, () => reply({ status: "renewed", ...hold }));
      return { ...told(), reply: renewed as never };
    });
  const pool = provider.permitSemaphore("pool");
  const held: PermitHandle[] = [];
  for (let at = 0; at < permits; at++) void pool.acquire().then((handle) => held.push(handle));
  // The proofs of all of them are old by then.
  await scene.runtime.advance(2 * settings.heartbeatMs);
  expect(held).toHaveLength(permits);
  for (let at = 0; at < tasks; at++) void pool.acquire({ waitMs: 60_000 }).then(() => granted++);
  await scene.runtime.advance(5);
  for (const handle of held.slice(0, tasks)) {
    void handle.release();
    await scene.runtime.advance(5);
  }
  return { granted, asked };
}

test("of many permits none is delivered before the others were asked about, also where another grant has asked", async () => {
  const scene = new Scene();
  const { line, provider } = scene.client();
  let free = 25;
  let granted = 0;
  let answersMs = 0;
  const told = () => {
    const nowMs = scene.runtime.nowMs();
    return { sentMs: nowMs, answeredMs: nowMs, runId: scene.redis.runId, acknowledged: null };
  };
  const reply = (answer: object) => ({ serverMs: scene.redis.nowUs / 1_000, ...answer }) as never;
  const hold = { token: 7n, pttlMs: settings.leaseMs };
  line.run = async () => {
    if (free === 0) return { ...told(), reply: reply({ status: "busy", againMs: null }) };
    free--;
    return { ...told(), reply: reply({ status: "granted", ...hold }) };
  };
  line.runAll = (_script, runs) =>
    runs.map(async ({ args }) => {
      const sent = told();
      await new Promise<void>((resolve) => void scene.runtime.setTimer(answersMs, resolve));
      const renewed = Array.from({ length: args.length / 3 }, () => reply({ status: "renewed", ...hold }));
      return { ...sent, reply: renewed as never };
    });
  const pool = provider.permitSemaphore("pool");
  for (let at = 0; at < 25; at++) void pool.acquire();
  await scene.runtime.advance(2 * settings.heartbeatMs);
  for (let at = 0; at < 2; at++) void pool.acquire({ waitMs: 60_000 }).then(() => granted++);
  await scene.runtime.advance(5);
  answersMs = 100;
  free = 2;
  line.publish(redissonChannels.semaphore("pool"), "2");
  await scene.runtime.advance(90);
  expect({ free, granted }).toEqual({ free: 0, granted: 0 });
  await scene.runtime.advance(500);
  expect(granted).toBe(2);
});

test("of a few permits each is asked about before another that was waited for is delivered", async () => {
  expect(await contended(5, 3)).toEqual({ granted: 3, asked: 3 * 4 });
});

test("of many permits each is asked about once in a heartbeat, and not before each grant", async () => {
  expect(await contended(50, 20)).toEqual({ granted: 20, asked: 49 });
});
