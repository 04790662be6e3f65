import { seededRandom } from "@holdfast/core/testing";
import { expect, it } from "vitest";
import { Groups } from "../../src/recipes/requests/groups.js";

it("groups of objects hold what was added and not removed, whether of none, one or several, and know which member is alone", () => {
  const random = seededRandom(7);
  const draw = (bound: number): number => Math.floor(random() * bound);
  const all = [{ id: 0 }, { id: 1 }, { id: 2 }];
  const groups = new Groups<number, { id: number }>();
  const expected = new Map<number, Set<object>>();
  for (let step = 0; step < 2_000; step++) {
    const [at, each] = [draw(2), all[draw(3)] as { id: number }];
    const those = expected.get(at) ?? new Set();
    if (draw(2) === 0) {
      groups.add(at, each);
      those.add(each);
    } else {
      groups.remove(at, each);
      those.delete(each);
    }
    if (those.size > 0) expected.set(at, those);
    else expected.delete(at);
    expect(groups.size).toBe(expected.size);
    for (const key of [0, 1]) {
      const wanted = expected.get(key) ?? new Set();
      expect(new Set(groups.of(key))).toEqual(wanted);
      for (const one of all) expect(groups.isAlone(key, one)).toBe(wanted.size === 1 && wanted.has(one));
    }
  }
});
