import { expect, test } from "vitest";
import { alone, apart, bridge, type Cut, ring, split } from "../../../src/engine/network/cuts.js";

const words = (cuts: readonly Cut[]): string[] => cuts.map(([from, to]) => `${from}>${to}`).sort();

test("two apart don't hear each other, in both ways", () => {
  expect(words(apart(0, 2))).toEqual(["0>2", "2>0"]);
});

test("a server alone is cut from its fellows, and from clients only when asked for", () => {
  expect(words(alone(1, 3))).toEqual(["0>1", "1>0", "1>2", "2>1"]);
  expect(words(alone(1, 3, true))).toEqual(["0>1", "1>0", "1>2", "1>clients", "2>1", "clients>1"]);
});

test("groups hear no party outside of them, and each other inside", () => {
  expect(words(split([0], [1, 2]))).toEqual(["0>1", "0>2", "1>0", "2>0"]);
  expect(words(split([0, "clients"], [1]))).toEqual(["0>1", "1>0", "1>clients", "clients>1"]);
});

test("in a ring each hears only the one before it", () => {
  const cut = new Set(words(ring([2, 0, 1])));
  expect([...cut].sort()).toEqual(["0>2", "1>0", "2>1"]);
  const heardBy = (to: number): number[] =>
    [0, 1, 2].filter((from) => from !== to && !cut.has(`${from}>${to}`));
  expect([heardBy(0), heardBy(1), heardBy(2)]).toEqual([[2], [0], [1]]);
});

test("a bridge hears all, the others only the bridge", () => {
  expect(words(bridge(1, 3))).toEqual(["0>2", "2>0"]);
});
