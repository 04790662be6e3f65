import { describe, expect, it } from "vitest";
import { peers } from "../src/peers/peers.js";
import { guessMs, orderOf, Progress, stepsOf } from "../src/peers/schedule.js";
import { durationText } from "../src/peers/text.js";
import { type Workload, workloads } from "../src/peers/workloads.js";

const of = (name: string): Workload => workloads.find((each) => each.name === name) as Workload;
const steps = stepsOf({
  backends: ["zookeeper", "redis"],
  peers: peers.filter(({ name }) => ["holdfast", "holdfast+keepMs", "Curator"].includes(name)),
  workloads: [of("pair"), of("pair-kept")],
  wanted: (backend, { name }) => backend === "zookeeper" || name === "pair",
});

it("over five rounds each of five peers begins once, and none has the same one before it more than three times", () => {
  const orders = [1, 2, 3, 4, 5].map((round) => orderOf(round, ["a", "b", "c", "d", "e"]));
  const before = new Map<string, number>();
  for (const order of orders) {
    expect([...order].sort()).toEqual(["a", "b", "c", "d", "e"]);
    for (const [at, each] of order.entries()) {
      const pair = `${order[at - 1] ?? "-"}${each}`;
      before.set(pair, (before.get(pair) ?? 0) + 1);
    }
  }
  expect(new Set(orders.map(([first]) => first)).size).toBe(5);
  expect(Math.max(...before.values())).toBeLessThanOrEqual(3);
});

describe("the steps", () => {
  it("are the wanted workloads of each backend, with the peers that take part in them", () => {
    expect(
      steps.map(({ backend, workload, peers }) => [backend, workload.name, peers.map(({ name }) => name)]),
    ).toEqual([
      ["zookeeper", "pair", ["Curator", "holdfast"]],
      ["zookeeper", "pair-kept", ["Curator", "holdfast", "holdfast+keepMs"]],
      ["redis", "pair", ["holdfast"]],
    ]);
  });
});

describe("the progress", () => {
  it("begins with a guess, and then knows from each measurement how long the next ones take", () => {
    const progress = new Progress(steps, 5, 700);
    const guess = guessMs(of("pair"), 700);
    expect(progress.left).toBe(30);
    expect(progress.leftMs).toBeCloseTo(30 * guess);
    // This took twice as long as guessed. The same is expected of the others until one of them is measured.
    progress.took("zookeeper", "pair", "Curator", 2 * guess);
    expect(progress.leftMs).toBeCloseTo(29 * 2 * guess);
    progress.took("zookeeper", "pair", "holdfast", 0);
    expect(progress.leftMs).toBeCloseTo(4 * 2 * guess + 4 * 0 + 20 * guess);
  });

  it("counts nothing more of a peer that gave up", () => {
    const progress = new Progress(steps, 5, 700);
    for (const { backend, workload, peers } of steps) {
      for (const { name } of peers) {
        if (name !== "Curator") progress.gaveUp(backend, workload.name, name);
      }
    }
    expect(progress.left).toBe(10);
    expect(String(progress)).toBe(`10 left, ${durationText(10 * guessMs(of("pair"), 700))}`);
  });

  it.each([
    [400, "about 1 s"],
    [89_000, "about 89 s"],
    [91_000, "about 2 min"],
    [840_000, "about 14 min"],
  ])("%d ms are %s", (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });
});
