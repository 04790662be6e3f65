import { simulatedRuntime } from "@holdfast/core/testing";
import { expect, test } from "vitest";
import { Scan, type ScanParts } from "../../src/redis/scan.js";

test("asks each master so often a second and no oftener, however fast it answers", async () => {
  const runtime = simulatedRuntime(1);
  const atMs: number[] = [];
  const ask = async (command: string) => {
    if (command === "dbsize") return 1_000_000;
    atMs.push(runtime.nowMs());
    return ["7", []];
  };
  const link = { ask };
  const scan = new Scan({
    ...{ runtime, callsPerSecond: 20, count: 1_000, keyFor: (lock: string) => lock, readSince: () => false },
    ...{ places: { masters: () => [link] }, reader: { readAt: async () => [] } },
    ...{
      patterns: { match: null, includes: () => true },
      passed: async () => {},
      onPass: () => {},
      onStatus: () => {},
    },
    state: { now: { coverage: 0 }, ok: () => false, failed: () => false, set: () => {} },
  } as unknown as ScanParts);
  scan.settle();
  await runtime.advance(10_000);
  scan.close();
  expect(atMs.length).toBeGreaterThan(150);
  expect(atMs.length).toBeLessThanOrEqual(201);
});
