import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Observing } from "../../src/engine/observing.js";
import type { Recorder } from "../../src/engine/recorder.js";
import type { Observer } from "../../src/engine/topologies/server-set.js";
import type { WorkerKey } from "../../src/workload/protocol.js";

const key: WorkerKey = { id: "k1", name: "n", kind: "fair", backend: "zookeeper", leaseMs: 1_000 };

function observing(observer: Partial<Observer>) {
  const seen: object[] = [];
  const recorder = { record: (record: object) => seen.push(record) } as unknown as Recorder;
  return { seen, observing: new Observing(observer as Observer, recorder, 1) };
}

describe("the observer", () => {
  it("goes on looking when servers do not answer for a while", async () => {
    let looks = 0;
    const { seen, observing: watch } = observing({
      look: async () => {
        if (++looks % 2 === 1) throw new Error("no leader");
        return { holders: ["w0#0:1"], queue: ["w1#0:1"] };
      },
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    watch.watch([key]);
    await vi.advanceTimersByTimeAsync(10);
    expect(seen.length).toBeGreaterThan(1);
    const stopped = watch.stop();
    await vi.advanceTimersByTimeAsync(1);
    await stopped;
    const until = seen.length;
    expect(seen[0]).toMatchObject({
      type: "snapshot",
      key: "k1",
      state: { holders: ["w0#0:1"], queue: ["w1#0:1"] },
    });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen.length).toBe(until);
  });

  it("waits until what dead clients left is gone, and records what is still there at the limit", async () => {
    const answers = [["/a"], ["/a"], []];
    const gone = observing({ left: async () => answers.shift() ?? [] });
    await gone.observing.scan([key], 10_000);
    expect(gone.seen).toMatchObject([{ state: { left: [] } }]);
    const stays = observing({ left: async () => ["/a (persistent)"] });
    await stays.observing.scan([key], 250);
    expect(stays.seen).toMatchObject([{ state: { left: ["/a (persistent)"] } }]);
  });

  it("does not take a backend that cannot be seen for an empty one", async () => {
    const { observing: watch, seen } = observing({
      left: async () => {
        throw new Error("no answer");
      },
    });
    await expect(watch.scan([key], 150)).rejects.toThrow("cannot be seen");
    expect(seen).toEqual([]);
  });
});
