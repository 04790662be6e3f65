import { describe, expect, it } from "vitest";
import { peers } from "../src/peers/peers.js";
import { figuresOfWork, type Sample } from "../src/peers/statistics.js";
import { judge, type Target, targetPeers, targets } from "../src/peers/targets.js";
import { workloads } from "../src/peers/workloads.js";

const figures = figuresOfWork([]);

function sample(peer: string, round: number, changes: Partial<Sample["figures"]>): Sample {
  return { workload: "pair", backend: "redis", peer, round, figures: { ...figures, ...changes } };
}

const faster: Target = {
  ...{ backend: "redis", workload: "pair", figure: "rate", peer: "holdfast", of: "ratio", must: 2, aim: 3 },
};
const sooner: Target = { ...faster, figure: "p50Ms", of: "value", must: 3, aim: 2 };

describe("a target", () => {
  it.each([
    [[100, 200, 500], "must"],
    [[100, 300, 500], "aim"],
    [[100, 199, 500], "missed"],
  ])("is reached or not by the median of its rounds: %j is %s", (rates, reached) => {
    const samples = rates.flatMap((rate, round) => [
      sample("redis-semaphore", round, { rate: 100 }),
      sample("holdfast", round, { rate }),
    ]);
    expect(judge(faster, samples).reached).toBe(reached);
  });

  it.each([
    [3.1, "missed"],
    [3, "must"],
    [1.9, "aim"],
  ])("whose aim is below what it must be wants less: %d is %s", (p50Ms, reached) => {
    expect(judge(sooner, [sample("holdfast", 1, { p50Ms })]).reached).toBe(reached);
  });

  it("without figures of ours, or of what they are set in relation to, was not measured", () => {
    expect(judge(faster, []).reached).toBe("not measured");
    expect(judge(faster, [sample("holdfast", 1, { rate: 500 })]).reached).toBe("not measured");
    expect(judge(sooner, [sample("shortest", 1, { p50Ms: 1 })])).toMatchObject({
      reached: "not measured",
      shortest: { median: 1 },
    });
  });
});

describe("the targets", () => {
  it("ask for a figure that their workload has, of a peer that takes part in it", () => {
    for (const { backend, workload: name, figure, peer } of targets) {
      const workload = workloads.find((each) => each.name === name);
      expect(workload, name).toBeDefined();
      const taking = peers.filter((each) => each.backend === backend && each.name === peer);
      expect(taking, `${peer} on ${backend}`).toHaveLength(1);
      const named = workload?.only ?? peers.filter((each) => each.named !== true).map((each) => each.name);
      expect(named, name).toContain(peer);
      const idle = workload?.kind === "idle";
      expect(["requests", "serverShare"].includes(figure), `${name} ${figure}`).toBe(idle);
    }
  });

  it("want more of their aim than of what they must be, and need the reference and the floor", () => {
    for (const { must, aim } of targets) expect(aim).not.toBe(must);
    expect(targetPeers).toEqual(expect.arrayContaining(["Curator", "redis-semaphore", "shortest"]));
    expect(targetPeers).not.toContain("kazoo");
  });
});
