import { expect } from "vitest";
import type { LockCollector, LockFigures } from "../src/index.js";

/** The figures by which locks are counted and sorted must equal the values of the locks' rows. */
export function expectFiguresOfRows(collector: LockCollector): void {
  const of = ({
    key,
    kind,
    state,
    holderCount,
    waiterCount,
    waiterUnit,
    oldestWait,
    oldestHold,
  }: LockFigures) => ({
    key,
    kind,
    state,
    holderCount,
    waiterCount,
    waiterUnit,
    oldestWait,
    oldestHold,
  });
  const rows = [...collector.locks()];
  expect([...collector.figures()].map(of)).toEqual(rows.map(of));
  for (const { key, holders } of rows) {
    for (const { entry, actor, identity } of holders) {
      for (const word of [entry, actor, identity?.label])
        if (word != null) expect(collector.isHeldBy(key, word.slice(1)), `${key} held by ${word}`).toBe(true);
    }
    expect(collector.isHeldBy(key, "nobody of that name")).toBe(false);
  }
  const contended = rows.filter(({ state }) => state === "contended").map(({ key }) => key);
  expect([...collector.figures("contended")].map(({ key }) => key).sort()).toEqual(contended.sort());
}
