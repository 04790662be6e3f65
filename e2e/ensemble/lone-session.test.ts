import { measureMemory, runPairs } from "@holdfast/bench";
import { startEnsemble, startZooKeeper, type ZooKeeperEnsemble } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { share } from "../support/share.js";

/** A session sends a keep-alive after a quarter of this time. */
const sessionTimeoutMs = 30_000;

describe("one lone session on an ensemble of three", () => {
  let ensemble: ZooKeeperEnsemble;
  beforeAll(async () => {
    ensemble = await startEnsemble({ nodes: 3, maxSessionTimeoutMs: sessionTimeoutMs });
  });
  afterAll(() => ensemble.stop());

  it("has every answer of many acquire and release pairs, and waits for none until its next keep-alive", async () => {
    const pairs = share("acquire and release pairs of a lone session", 1_000, 200_000);
    const report = await runPairs({ connect: ensemble.connectString, pairs, sessionTimeoutMs });
    const { answers, chased } = report;
    console.log(
      `${pairs} pairs, ${Math.round(report.pairsPerSecond)} pairs/s: ${answers.count} answers, p50 ${answers.p50Ms.toFixed(2)} ms, p99 ${answers.p99Ms.toFixed(2)} ms, max ${answers.maxMs.toFixed(0)} ms, ${chased} chased with pings`,
    );
    expect(answers.count).toBeGreaterThanOrEqual(3 * pairs);
    expect(report.unknown).toBe(0);
    // Keep-alives bring forgotten answers after up to 7.5 s. A busy machine may stop one of the four processes for a second.
    expect(answers.maxMs).toBeLessThan(sessionTimeoutMs / 10);
  }, 1_800_000);
});

describe("the heap of one provider", () => {
  it("stays within a few kilobytes for each hold and each waiter", async () => {
    const server = await startZooKeeper();
    onTestFinished(() => server.stop());
    const holds = share("locks held for their size", 2_000, 10_000);
    const waiters = share("waiters for their size", 300, 1_000);
    const report = await measureMemory({ connect: server.connectString, holds, waiters });
    console.log(`${report.bytesPerHold} bytes of heap a hold, ${report.bytesPerWaiter} a waiter`);
    expect(report.bytesPerHold).toBeGreaterThan(500);
    expect(report.bytesPerHold).toBeLessThan(10_000);
    expect(report.bytesPerWaiter).toBeGreaterThan(500);
    expect(report.bytesPerWaiter).toBeLessThan(25_000);
  }, 180_000);
});
