import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Observatory } from "../../src/core/observatory.js";
import { FakeCollector, fakeParticipant } from "../fake-collector.js";
import { soon } from "../soon.js";

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
  it("of all clusters is what those of each come to", async () => {
    using scene = new Scene();
    scene.contend(scene.zoo, "/a", 2, scene.nowMs - 5_000);
    scene.zoo.put({ key: "/b", holders: [fakeParticipant({ entry: "h" })] });
    scene.contend(scene.red, "r", 3, scene.nowMs - 1_000);
    const [all, zoo, red] = await Promise.all(
      [undefined, "zoo", "red"].map((name) => scene.observatory.overview(name)),
    );
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
    await expect(scene.observatory.overview("other")).rejects.toThrow("no such cluster");
  });

  it("has the ten hottest of all, whichever cluster they are in", async () => {
    using scene = new Scene();
    for (let n = 1; n <= 10; n++) {
      scene.contend(scene.zoo, `/${2 * n}`, 2 * n, 1);
      scene.contend(scene.red, `${2 * n - 1}`, 2 * n - 1, 1);
    }
    expect((await scene.observatory.overview()).hot.map(({ waiterCount }) => waiterCount)).toEqual([
      20, 19, 18, 17, 16, 15, 14, 13, 12, 11,
    ]);
    expect((await scene.observatory.overview("red")).hot[0]?.waiterCount).toBe(19);
  });

  it("counts what was lost within the hour, in each cluster, and no release", async () => {
    using scene = new Scene();
    const startMs = scene.nowMs;
    const lost = async (name?: string): Promise<unknown> => (await scene.observatory.overview(name)).lost;
    scene.ended(scene.red, true);
    scene.ended(scene.red, false);
    scene.nowMs += 1_800_000;
    scene.ended(scene.zoo, false);
    scene.observatory.forced("zoo", 2);
    expect(await lost()).toEqual({ count: 3, sinceMs: startMs });
    expect([await lost("zoo"), await lost("red")]).toEqual([
      { count: 2, sinceMs: startMs },
      { count: 1, sinceMs: startMs },
    ]);
    scene.nowMs = startMs + 3_600_001;
    expect(await lost()).toEqual({ count: 2, sinceMs: startMs + 1 });
    expect(await lost("red")).toEqual({ count: 0, sinceMs: startMs + 1 });
  });

  it("is counted once for all who ask within a second", async () => {
    using scene = new Scene();
    const walks = vi.spyOn(scene.zoo, "figures");
    scene.zoo.put({ key: "/a", holders: [fakeParticipant({ entry: "h" })] });
    const { observatory } = scene;
    await Promise.all([observatory.overview(), observatory.overview("zoo"), observatory.overview()]);
    scene.nowMs += 999;
    expect((await observatory.overview()).held).toBe(1);
    expect(walks).toHaveBeenCalledTimes(1);
    scene.nowMs += 1;
    scene.zoo.put({ key: "/b", holders: [fakeParticipant({ entry: "h" })] });
    expect((await observatory.overview()).held).toBe(2);
    expect(walks).toHaveBeenCalledTimes(2);
  });

  it("lets others have their turn while very many locks are counted, and is in order though they change meanwhile", async () => {
    using scene = new Scene();
    for (let n = 0; n < 3_000; n++) scene.contend(scene.zoo, `/${n}`, 1 + (n % 5), 1);
    // Each reading of this clock adds a millisecond.
    let clockMs = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => ++clockMs);
    onTestFinished(() => clock.mockRestore());
    const counted = scene.observatory.overview("zoo");
    let turns = 0;
    let going = true;
    const turn = (): void => {
      turns += 1;
      // The first lock that was counted as hot has fewer waiters now.
      if (turns === 1) scene.contend(scene.zoo, "/4", 2, 1);
      if (going) setImmediate(turn);
    };
    setImmediate(turn);
    const { held, waiting, hot } = await counted;
    going = false;
    expect(turns).toBeGreaterThanOrEqual(4);
    expect([held, waiting]).toEqual([3_000, 9_000]);
    const heat = hot.map(({ waiterCount }) => waiterCount);
    expect(heat).toEqual([...heat].sort((a, b) => b - a));
  });
});

it("an observatory goes on looking where something that it asks throws, and one warning of the process says so", async () => {
  const said: string[] = [];
  const heard = ({ message }: Error): void => void said.push(message);
  process.on("warning", heard);
  onTestFinished(() => void process.off("warning", heard));
  let asked = 0;
  const own = (): never => {
    asked += 1;
    throw new Error("the file of the host is away");
  };
  const observatory = new Observatory([], { own });
  onTestFinished(() => observatory.close());
  await soon(() => asked).toBeGreaterThan(2);
  expect(said.filter((each) => each.includes("the file of the host is away"))).toHaveLength(1);
});
