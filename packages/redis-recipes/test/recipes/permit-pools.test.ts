import type { PermitHandle } from "@holdfast/core";
import { expect, test } from "vitest";
import { redissonChannels } from "../../src/layout/channels.js";
import { Scene } from "./scene.js";
import { settings } from "./simulated-client.js";

/** One client that holds all permits of a pool, each by a handle of its own, and whose tasks wait for others. */
class FullPool {
  readonly scene = new Scene();
  readonly held: PermitHandle[] = [];
  free: number;
  granted = 0;
  /** How often handles were asked about. */
  asked = 0;
  /** How long the answer to a renewal takes. */
  answersMs = 0;
  readonly #client = this.scene.client();

  private constructor(permits: number) {
    this.free = permits;
    const { line } = this.#client;
    line.run = async ({ name }) => this.#answer(name);
    line.runAll = (_script, runs) =>
      runs.map(async ({ args }) => {
        const sent = this.#sent();
        // Each entry of a renewal is its lease, how many permits it has, and its permit.
        const entries = args.length / 3;
        this.asked += entries;
        const { answersMs, scene } = this;
        if (answersMs > 0)
          await new Promise<void>((resolve) => void scene.runtime.setTimer(answersMs, resolve));
        const renewed = Array.from({ length: entries }, () => this.#reply({ status: "renewed", ...hold }));
        return { ...sent, reply: renewed as never };
      });
  }

  static async with(permits: number, tasks: number): Promise<FullPool> {
    const full = new FullPool(permits);
    const { scene, held } = full;
    const pool = full.#client.provider.permitSemaphore("pool");
    for (let at = 0; at < permits; at++) void pool.acquire().then((handle) => held.push(handle));
    // The proofs of all of them are old by then.
    await scene.runtime.advance(2 * settings.heartbeatMs);
    expect(held).toHaveLength(permits);
    for (let at = 0; at < tasks; at++) void pool.acquire({ waitMs: 60_000 }).then(() => full.granted++);
    await scene.runtime.advance(5);
    return full;
  }

  /** Tells the client that so many permits are free. */
  publish(permits: number): void {
    this.#client.line.publish(redissonChannels.semaphore("pool"), String(permits));
  }

  #answer(script: string) {
    if (script === "permit-release") {
      this.publish(++this.free);
      return { ...this.#sent(), reply: this.#reply({ ended: true, permits: 1 }) };
    }
    if (this.free === 0) return { ...this.#sent(), reply: this.#reply({ status: "busy", againMs: null }) };
    this.free--;
    return { ...this.#sent(), reply: this.#reply({ status: "granted", ...hold }) };
  }

  #sent() {
    const nowMs = this.scene.runtime.nowMs();
    return { sentMs: nowMs, answeredMs: nowMs, runId: this.scene.redis.runId, acknowledged: null };
  }

  #reply(answer: object) {
    return { serverMs: this.scene.redis.nowUs / 1_000, ...answer } as never;
  }
}

const hold = { token: 7n, pttlMs: settings.leaseMs };

/**
 * As many permits are given back, one after the other, as tasks wait. Returns how many tasks were granted one, and how often
 * handles were asked about.
 */
async function contended(permits: number, tasks: number): Promise<{ granted: number; asked: number }> {
  const full = await FullPool.with(permits, tasks);
  for (const handle of full.held.slice(0, tasks)) {
    void handle.release();
    await full.scene.runtime.advance(5);
  }
  const { granted, asked } = full;
  return { granted, asked };
}

test("of many permits none is delivered before the others were asked about, also where another grant has asked", async () => {
  const full = await FullPool.with(25, 2);
  full.answersMs = 100;
  full.free = 2;
  full.publish(2);
  await full.scene.runtime.advance(90);
  expect({ free: full.free, granted: full.granted }).toEqual({ free: 0, granted: 0 });
  await full.scene.runtime.advance(500);
  expect(full.granted).toBe(2);
});

test("of a few permits each is asked about before another that was waited for is delivered", async () => {
  expect(await contended(5, 3)).toEqual({ granted: 3, asked: 3 * 4 });
});

test("of many permits each is asked about once in a heartbeat, and not before each grant", async () => {
  expect(await contended(50, 20)).toEqual({ granted: 20, asked: 49 });
});
