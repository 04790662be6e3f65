import { startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { CreateFlags } from "@holdfast/zk-protocol";
import { recogniseTree } from "@holdfast/zk-recipes/internal";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTarget, type Target, targetNames } from "../../foreign/target.js";
import { operatorSession } from "../../support/providers.js";
import { Operator } from "../features/operator.js";
import { readTree } from "./recorded.js";

const base = "_c_00000000-0000-4000-8000-000000000001-lock-";
const flags = CreateFlags.ephemeralSequential;

describe.each(targetNames)("the stat of a path on %s", (name) => {
  let target: Target;
  beforeAll(async () => {
    target = await startTarget(name);
  }, 300_000);
  afterAll(() => target?.[Symbol.asyncDispose]());

  it("tells the number of the next child, whatever was made and deleted before", async () => {
    const operator = await Operator.connect(target.connectString);
    await operator.create("/counted");
    for (let round = 0; round < 6; round++) {
      const made = [];
      for (let i = 0; i <= round; i++) made.push(await operator.create(`/counted/${base}`, { flags }));
      for (const path of made.slice(round % 3)) await operator.delete(path);
      const { stat } = await operator.read("/counted");
      const next = ((stat.cversion + stat.numChildren) >>> 0) / 2;
      const path = await operator.create(`/counted/${base}`, { flags });
      expect(Number(path.slice(-10))).toBe(next);
    }
  });
});

it.each([
  [999_999_999, []],
  [1_000_000_000, ["warn"]],
  [1_999_999_999, ["warn"]],
  [2_000_000_000, ["refuse"]],
  [2_147_483_647, ["refuse"]],
])("a counter at %i is reported while the queue is empty: %j", async (next, levels) => {
  const server = await startEmbeddedZooKeeper({ sequences: { "/lock": next } });
  try {
    const session = await operatorSession(server.connectString);
    const { findings } = recogniseTree(await readTree(session, "/lock"));
    expect(findings).toEqual(
      levels.map((level) => ({ type: "sequence-high", path: "/lock", sequence: next, level })),
    );
    await session.close();
  } finally {
    await server.stop();
  }
});
