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

it("forgets as a list in which each entry goes to the end when it is set, whatever is deleted or cleared between", () => {
  let seed = 20_261_127;
  const draw = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  const map = new RecentMap<number, number>(8, (value) => value < over);
  let over = 0;
  let list: [number, number][] = [];
  for (let step = 0; step < 20_000; step++) {
    const key = draw(20);
    const what = draw(100);
    if (what < 80) {
      const value = over - 2 + draw(50);
      list = [...list.filter(([other]) => other !== key), [key, value]];
      map.set(key, value);
      while (list[0] !== undefined && (list.length > 8 || list[0][1] < over)) list.shift();
    } else if (what < 97) {
      list = list.filter(([other]) => other !== key);
      map.delete(key);
    } else if (what < 99) over += 1;
    else {
      list = [];
      map.clear();
    }
    expect([...map]).toEqual(list);
  }
});
