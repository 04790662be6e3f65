import { describe, expect, it } from "vitest";
import { type Blocker, waitForest, waitsIn } from "../../page/src/format/wait-tree.js";

const edge = (from: string, to: string, key = `lock of ${to}`) => ({
  from,
  to,
  lockId: `id ${key}`,
  key,
  cluster: "c",
  deadlineMs: null,
});
function drawn({ actor, again, holds }: Blocker): unknown {
  return again
    ? `${actor} again`
    : holds.length === 0
      ? actor
      : {
          [actor]: holds.map(({ key, blocked }) => ({ [key]: blocked.map(({ blocker }) => drawn(blocker)) })),
        };
}

it("a page of one cluster has its waits, the circles that go through it, and what cannot be seen there", () => {
  const [here, there] = [edge("b", "a"), { ...edge("d", "e"), cluster: "other" }];
  const circle = (...lockIds: string[]) => ({
    actors: lockIds,
    lockIds,
    certainty: "possible" as const,
    resolvesMs: null,
  });
  const unseen = (cluster: string | null) => ({ cluster, message: "not seen" });
  const own = circle(here.lockId);
  const both = circle(here.lockId, there.lockId);
  const all = {
    edges: [here, there],
    cycles: [own, both, circle(there.lockId)],
    blind: [unseen("c"), unseen("other"), unseen(null)],
  };
  expect(waitsIn(all, "c")).toEqual({
    edges: [here],
    cycles: [own, both],
    blind: [unseen("c"), unseen(null)],
  });
  expect(waitsIn(all, null)).toEqual(all);
});

describe("the forest of waits", () => {
  it("has who blocks above, and who waits below", () => {
    const { forest, left } = waitForest([edge("b", "a"), edge("c", "b"), edge("d", "b")], 100);
    expect(forest.map(drawn)).toEqual([{ a: [{ "lock of a": [{ b: [{ "lock of b": ["c", "d"] }] }] }] }]);
    expect(forest[0]?.behind).toBe(3);
    expect(left).toBe(0);
  });
  it("puts first who blocks most", () => {
    const { forest } = waitForest([edge("b", "a"), edge("d", "c"), edge("e", "c")], 100);
    expect(forest.map(({ actor }) => actor)).toEqual(["c", "a"]);
  });
  it("ends, and shows all actors, when they wait in a circle", () => {
    const { forest, left } = waitForest([edge("a", "b"), edge("b", "a"), edge("c", "a")], 100);
    expect(left).toBe(0);
    expect(forest).toHaveLength(1);
    expect(JSON.stringify(forest.map(drawn))).toContain("again");
  });
  it("shows an actor that waits for several others once with its own locks", () => {
    const { forest } = waitForest([edge("w", "a"), edge("w", "b"), edge("x", "w")], 100);
    const text = JSON.stringify(forest.map(drawn));
    expect(text.split('"x"')).toHaveLength(2);
    expect(text).toContain("w again");
  });
  it("says a wait once, although two threads of one session wait", () => {
    const { forest } = waitForest([edge("b", "a"), edge("b", "a")], 100);
    expect(forest.map(drawn)).toEqual([{ a: [{ "lock of a": ["b"] }] }]);
  });
  it("is bounded, and counts whom it leaves out", () => {
    const edges = Array.from({ length: 5000 }, (_, n) => edge(`w${n}`, "a"));
    const { forest, left } = waitForest(edges, 400);
    expect(forest[0]?.holds[0]?.blocked).toHaveLength(399);
    expect(left).toBe(5001 - 400);
  });
  it("is deep without end of the stack", () => {
    const edges = Array.from({ length: 2000 }, (_, n) => edge(`${n + 1}`, `${n}`));
    expect(waitForest(edges, 400).left).toBe(2001 - 400);
  });
});
