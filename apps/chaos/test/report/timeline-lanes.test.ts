import { describe, expect, it } from "vitest";
import { historyOf } from "../../src/history/read.js";
import { buildTimeline } from "../../src/report/timeline/build-timeline.js";
import { lanesOf } from "../../timeline/lanes.js";
import { TimeView } from "../../timeline/time-view.js";
import { visibleOf } from "../../timeline/visible.js";
import { Script } from "../support.js";

const dataOf = (script: Script) => buildTimeline(historyOf(script.records), null);
const laneNamed = (lanes: ReturnType<typeof lanesOf>, id: string) => {
  const found = lanes.find((lane) => lane.id === id);
  if (found === undefined) throw new Error(`no lane ${id} among ${lanes.map((lane) => lane.id).join()}`);
  return found;
};

function overlapping(): Script {
  const script = new Script({ k: { fenced: true }, other: {} });
  const first = script.grant("a#0", "k", 9, 10, { token: 2 });
  const second = script.grant("b#0", "k", 14, 15, { token: 1 });
  script.release("a#0", "k", first, 20, 21);
  script.release("b#0", "k", second, 30, 31);
  script.hold("a#0", "other", 40, 50);
  script.hold("b#0", "other", 60, 70);
  return script;
}

describe("the lane of a key", () => {
  const data = dataOf(overlapping());
  const lane = laneNamed(lanesOf(data), "key k");

  it("puts overlapping holds below each other, marks both, and names them in the overlap", () => {
    const holds = lane.items.filter(({ look }) => look === "hold");
    expect(holds.map(({ row, clash, label }) => [row, clash, label])).toEqual([
      [0, true, "a#0 · 2"],
      [1, true, "b#0 · 1"],
    ]);
    const [overlap] = lane.items.filter(({ look }) => look === "overlap");
    expect(overlap).toMatchObject({ from: 15_000, to: 20_000, row: 2, label: "a#0 + b#0: 5.000 ms" });
    expect(overlap?.title).toContain("a#0 and b#0 both hold k");
    expect(lane.rows).toBe(3);
  });

  it("marks nothing where holds follow each other", () => {
    const other = laneNamed(lanesOf(data), "key other");
    expect(other.items.map(({ row, clash, look }) => [row, clash, look])).toEqual([
      [0, false, "hold"],
      [0, false, "hold"],
    ]);
  });

  it("shows a token that falls", () => {
    expect(laneNamed(lanesOf(data), "tokens k").items.map(({ look, label }) => [look, label])).toEqual([
      ["token", "2"],
      ["fallen", "1"],
    ]);
  });

  it("shows no token as falling that real time does not convict", () => {
    const script = new Script({
      rw: { kind: "read-write", fenced: true },
      s: { kind: "semaphore", limit: 2 },
    });
    // Both readers asked before either was granted; permits have no order.
    script.grant("a#0", "rw", 1, 5, { token: 9, mode: "read" });
    script.grant("b#0", "rw", 2, 6, { token: 8, mode: "read" });
    script.grant("a#0", "rw", 10, 11, { token: 7, mode: "read" });
    script.grant("a#0", "s", 1, 2, { token: 9 });
    script.grant("b#0", "s", 3, 4, { token: 8 });
    const lanes = lanesOf(dataOf(script));
    for (const id of ["tokens rw", "tokens s"])
      expect(new Set(laneNamed(lanes, id).items.map(({ look }) => look)), id).toEqual(new Set(["token"]));
    script.grant("w#0", "rw", 20, 21, { token: 5, mode: "write" });
    expect(laneNamed(lanesOf(dataOf(script)), "tokens rw").items.at(-1)?.look).toBe("fallen");
  });

  it("is alone when its key is chosen, and workers show only what they did there", () => {
    const place = data.keys.findIndex(({ name }) => name === "other");
    const lanes = lanesOf(data, place);
    expect(lanes.filter(({ group }) => group === "keys").map(({ name }) => name)).toEqual(["other"]);
    expect(laneNamed(lanes, "worker a").items.filter(({ look }) => look === "hold")).toHaveLength(1);
  });
});

describe("the lane of a worker", () => {
  it("shows waiting, holding, pauses, losses and what got nothing, all incarnations in one", () => {
    const script = new Script({ k: {} });
    script.worker("w1#0", "start", 0);
    const lost = script.grant("w1#0", "k", 5, 10);
    script.worker("w1#0", "paused", 12);
    script.worker("w1#0", "resumed", 20);
    script.lost("w1#0", "k", lost, 21);
    script.worker("w1#0", "killed", 30);
    script.worker("w1#1", "start", 40);
    script.asks("w1#1", "k", 50, { waitMs: 10, outcome: "fail", ended: 60 });
    script.worker("w1#1", "exit", 70);
    const lanes = lanesOf(dataOf(script));
    const { items, name } = laneNamed(lanes, "worker w1");
    expect(name).toBe("w1");
    expect(items.map(({ look, from, to }) => [look, from / 1e3, to / 1e3])).toEqual([
      ["wait", 5, 10],
      ["hold", 10, 21],
      ["paused", 12, 20],
      ["lost", 21, 21],
      ["dead", 30, 40],
      ["refused", 50, 60],
      ["ended", 70, 70],
    ]);
    expect(lanes.filter(({ group }) => group === "workers")).toHaveLength(1);
  });
});

describe("the lane of a server", () => {
  it("shows what it was and when it was down, also when the evidence came at the end only", () => {
    const script = new Script({ k: {} });
    script.hold("a#0", "k", 1, 2);
    const fault = (t: number, f: string, phase: string, more: object = {}) =>
      script.records.push({
        i: script.records.length,
        t: t * 1e6,
        type: "fault",
        p: "nemesis",
        f,
        phase,
        target: "zk2",
        ...more,
      } as never);
    fault(10, "zk.kill", "begin");
    fault(30, "zk.kill", "end", {
      evidence: { servers: ["zk2"], roles: { zk2: "leader", zk10: "follower" } },
    });
    fault(40, "zk.session-kill", "begin", { evidence: { servers: ["zk2"], roles: { zk2: "follower" } } });
    fault(50, "zk.session-kill", "end");
    const lanes = lanesOf(dataOf(script)).filter(({ group }) => group === "servers");
    expect(lanes.map(({ name }) => name)).toEqual(["zk2", "zk10"]);
    expect(lanes[0]?.items.map(({ look, label, from, to }) => [look, label, from / 1e3, to / 1e3])).toEqual([
      ["down", "down", 10, 30],
      ["role", "leader", 10, 40],
      ["troubled", "troubled", 40, 50],
      ["role", "follower", 40, 50],
    ]);
  });
});

describe("the view", () => {
  it("keeps what is under the pointer where it is, and never leaves the run", () => {
    const view = new TimeView(10e6);
    view.width = 1_000;
    view.zoom(0.1, 250);
    expect(view.at(250)).toBeCloseTo(2.5e6);
    expect(view.spanUs).toBeCloseTo(1e6);
    view.pan(-50e6);
    expect([view.fromUs, view.toUs]).toEqual([0, expect.closeTo(1e6)]);
    view.pan(50e6);
    expect(view.toUs).toBeCloseTo(10e6);
    view.zoom(1e-9);
    expect(view.spanUs).toBe(20);
    view.zoom(1e12);
    expect(view.showsAll).toBe(true);
  });

  it("has an axis of round times that differ", () => {
    const view = new TimeView(123_456_789);
    for (let n = 0; n < 40; n++) {
      const ticks = view.ticks();
      expect(ticks.length).toBeGreaterThan(1);
      expect(ticks.length).toBeLessThan(20);
      expect(new Set(ticks.map((tick) => view.label(tick))).size, `${view.spanUs} us`).toBe(ticks.length);
      view.zoom(0.7, 333);
    }
  });
});

describe("a crowded lane", () => {
  const script = new Script({ k: {} });
  for (let n = 0; n < 12_000; n++) script.hold(`w${n % 3}#0`, "k", 10 * n + 1, 10 * n + 6);
  const first = script.grant("x#0", "k", 60_000, 60_002);
  script.release("x#0", "k", first, 60_004, 60_005);
  const lane = laneNamed(lanesOf(dataOf(script)), "key k");
  const view = new TimeView(120_000_000);
  view.width = 900;

  it("is drawn as few bins that count everything, the overlap and its bin among them", () => {
    view.all();
    const { items, bins } = visibleOf(lane, view);
    expect(items.map(({ look }) => look)).toEqual(["overlap"]);
    expect(bins.length).toBeLessThan(320);
    expect(bins.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThanOrEqual(12_001);
    expect(bins.filter(({ bad }) => bad)).toHaveLength(1);
  });

  it("shows each hold when it is zoomed in, and nothing that is out of view", () => {
    view.show(60_000_000, 60_100_000);
    const { items, bins } = visibleOf(lane, view);
    expect(bins).toEqual([]);
    expect(items.length).toBeGreaterThan(10);
    for (const { from, to } of items) expect([to >= view.fromUs, from <= view.toUs]).toEqual([true, true]);
    expect(items.filter(({ clash }) => clash)).toHaveLength(2);
  });
});
