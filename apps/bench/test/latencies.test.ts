import { describe, expect, it } from "vitest";
import { Latencies } from "../src/latencies.js";

describe("latencies", () => {
  it("tell percentiles and the maximum by nearest rank, whatever the order they came in", () => {
    const latencies = new Latencies();
    for (let ms = 100; ms >= 1; ms--) latencies.add(ms);
    expect(latencies.summary()).toEqual({ count: 100, p50Ms: 50, p99Ms: 99, maxMs: 100 });
  });

  it("keep every sample beyond what was set aside at first", () => {
    const latencies = new Latencies();
    const count = 200_000;
    for (let i = 1; i <= count; i++) latencies.add(i);
    expect(latencies.count).toBe(count);
    expect(latencies.summary()).toMatchObject({ count, maxMs: count });
    expect(latencies.countOver(count - 3)).toBe(3);
  });

  it("of nothing are not numbers", () => {
    expect(new Latencies().summary()).toEqual({ count: 0, p50Ms: NaN, p99Ms: NaN, maxMs: NaN });
  });
});
