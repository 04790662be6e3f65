import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import { NameSet } from "../../src/zookeeper/name-set.js";

it("a set of names is one, whether it has none, one, a few or many", () => {
  const seed = Number(process.env.HOLDFAST_SEED ?? randomInt(2 ** 31));
  console.log(`HOLDFAST_SEED=${seed}`);
  let state = seed >>> 0;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const names = new NameSet();
  const truth = new Set<string>();
  for (let step = 0; step < 20_000; step++) {
    // The set grows for 500 steps, then shrinks for 500.
    const grows = Math.floor(step / 500) % 2 === 0;
    const name = `n${next(60)}`;
    if (next(4) > 0 === grows) {
      expect(names.add(name)).toBe(!truth.has(name));
      truth.add(name);
    } else expect(names.delete(name)).toBe(truth.delete(name));
    expect(names.size).toBe(truth.size);
    expect(names.has(name)).toBe(truth.has(name));
    if (step % 50 === 0) expect([...names].sort()).toEqual([...truth].sort());
    expect(truth.size === 0 ? names.first() === undefined : truth.has(names.first() as string)).toBe(true);
  }
});
