import { expect, it } from "vitest";
import { Random } from "../../src/engine/random.js";
import type { WorkerGroup } from "../../src/engine/scenario.js";
import { Contender } from "../../src/workload/contender.js";
import type { Held } from "../../src/workload/held.js";
import type { WorkerKey } from "../../src/workload/protocol.js";
import type { RecordedCalls } from "../../src/workload/recorded-calls.js";

/** The keys of a contender's first turns, in order. */
async function turnsOf(options: NonNullable<WorkerGroup["options"]>, count: number): Promise<string> {
  const stop = new AbortController();
  const turns: string[] = [];
  const calls: Partial<RecordedCalls> = {
    acquire: async (key) => {
      turns.push(key.id);
      if (turns.length === count) stop.abort();
      return { grant: { lost: null } } as Held;
    },
    release: async () => {},
  };
  const keys = ["a", "b", "c"].map(
    (id): WorkerKey => ({ id, name: id, kind: "mutex", backend: "redis", leaseMs: 1_000 }),
  );
  const group: WorkerGroup = {
    name: "w",
    count: 1,
    recipe: "redis",
    keys: ["a", "b", "c"],
    holdMs: [0, 0],
    pauseMs: [0, 0],
    options,
  };
  const random = new Random(3, "contender");
  await new Contender({
    calls: calls as RecordedCalls,
    group,
    keys,
    random,
    name: "c0",
    stop: stop.signal,
  }).run();
  return turns.join("");
}

it("takes one key as often in a row as `turns` says, rests, and draws the next", async () => {
  const turns = await turnsOf({ turns: 4, restMs: 2 }, 40);
  expect(turns).toMatch(/^((a{4}|b{4}|c{4})+)$/);
  expect(new Set(turns).size).toBe(3);
});

it("draws a key for each turn where `turns` is not given", async () => {
  expect(await turnsOf({}, 40)).not.toMatch(/^((a{4}|b{4}|c{4})+)$/);
});
