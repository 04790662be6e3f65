import { describe, expect, it } from "vitest";
import { Observatory } from "../../src/core/observatory.js";
import { FakeCollector, fakeParticipant } from "../fake-collector.js";

class Scene {
  nowMs = 10_000_000;
  readonly zoo = new FakeCollector("zookeeper");
  readonly red = new FakeCollector("redis");
  readonly observatory = new Observatory(
    [
      { name: "zoo", collector: this.zoo },
      { name: "red", collector: this.red },
    ],
    { now: () => this.nowMs },
  );

  [Symbol.dispose](): void {
    this.observatory.close();
  }

  contend(collector: FakeCollector, key: string, waiters: number, sinceMs: number): void {
    collector.put({
      key,
      holders: [fakeParticipant({ entry: "h" })],
      waiters: Array.from({ length: waiters }, (_, at) => fakeParticipant({ entry: `w${at}`, position: at })),
      oldestWait: { atMs: sinceMs, provenance: "exact" },
    });
  }

  ended(collector: FakeCollector, ranOut: boolean): void {
    collector.emit({
      type: "released",
      key: "k",
      entry: "e",
      atMs: this.nowMs,
      token: null,
      heldMs: null,
      ranOut,
    });
  }
}

describe("the overview", () => {
  it("of all clusters is what those of each come to", () => {
    using scene = new Scene();
    scene.contend(scene.zoo, "/a", 2, scene.nowMs - 5_000);
    scene.zoo.put({ key: "/b", holders: [fakeParticipant({ entry: "h" })] });
    scene.contend(scene.red, "r", 3, scene.nowMs - 1_000);
    const [all, zoo, red] = [undefined, "zoo", "red"].map((name) => scene.observatory.overview(name));
    const figures = (of: typeof all) => [of?.held, of?.contended, of?.waiting, of?.oldestWaitMs];
    expect(figures(all)).toEqual([3, 2, 5, 5_000]);
    expect(figures(zoo)).toEqual([2, 1, 2, 5_000]);
    expect(figures(red)).toEqual([1, 1, 3, 1_000]);
    const shown = (of: typeof all) => [of?.hot.map(({ key }) => key), of?.clusters.map(({ name }) => name)];
    expect(shown(all)).toEqual([
      ["r", "/a"],
      ["zoo", "red"],
    ]);
    expect(shown(zoo)).toEqual([["/a"], ["zoo"]]);
    expect(() => scene.observatory.overview("other")).toThrow("no such cluster");
  });

  it("has the ten hottest of all, whichever cluster they are in", () => {
    using scene = new Scene();
    for (let n = 1; n <= 10; n++) {
      scene.contend(scene.zoo, `/${2 * n}`, 2 * n, 1);
      scene.contend(scene.red, `${2 * n - 1}`, 2 * n - 1, 1);
    }
    expect(scene.observatory.overview().hot.map(({ waiterCount }) => waiterCount)).toEqual([
      20, 19, 18, 17, 16, 15, 14, 13, 12, 11,
    ]);
    expect(scene.observatory.overview("red").hot[0]?.waiterCount).toBe(19);
  });

  it("counts what was lost within the hour, in each cluster, and no release", () => {
    using scene = new Scene();
    const startMs = scene.nowMs;
    const lost = (name?: string): unknown => scene.observatory.overview(name).lost;
    scene.ended(scene.red, true);
    scene.ended(scene.red, false);
    scene.nowMs += 1_800_000;
    scene.ended(scene.zoo, false);
    scene.observatory.forced("zoo", 2);
    expect(lost()).toEqual({ count: 3, sinceMs: startMs });
    expect([lost("zoo"), lost("red")]).toEqual([
      { count: 2, sinceMs: startMs },
      { count: 1, sinceMs: startMs },
    ]);
    scene.nowMs = startMs + 3_600_001;
    expect(lost()).toEqual({ count: 2, sinceMs: startMs + 1 });
    expect(lost("red")).toEqual({ count: 0, sinceMs: startMs + 1 });
  });
});
