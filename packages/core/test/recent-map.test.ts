import { expect, it } from "vitest";
import { RecentMap } from "../src/recent-map.js";

it("a map of recent entries forgets those that were set longest ago", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
  expect([...map]).toEqual([
    ["a", 3],
    ["c", 4],
  ]);
});

it("forgets what is over before that, the oldest first", () => {
  let now = 0;
  const map = new RecentMap<string, number>(9, (untilMs) => untilMs <= now);
  map.set("a", 5).set("b", 5).set("c", 9);
  expect(map.size).toBe(3);
  now = 5;
  map.forgetOld();
  expect([...map.keys()]).toEqual(["c"]);
  map.set("d", 8).set("e", 20);
  now = 8;
  map.set("f", 20);
  expect([...map.keys()]).toEqual(["c", "d", "e", "f"]);
});
