import { encodeResponse, ListedChildren } from "@holdfast/zk-protocol";
import fc from "fast-check";
import { expect, it } from "vitest";
import { namesThatDecide } from "../../src/layout/queue-glance.js";
import { latchRule, mutexRule, type QueueRule, viewQueue, writeRule } from "../../src/layout/queue-rules.js";
import { stat } from "./trees.js";

function listing(children: readonly string[]): ListedChildren {
  return new ListedChildren(encodeResponse("getChildren2", { children: [...children], stat: stat() }), 0);
}

const node = (base: string, sequence: number, maker = sequence): string =>
  `_c_00000000-0000-4000-8000-${String(maker).padStart(12, "0")}-${base}${String(sequence).padStart(10, "0")}`;

/** What `viewQueue` returns, or the message of the error that it throws. */
function seen(children: readonly string[], own: string, rule: QueueRule): unknown {
  try {
    return viewQueue("l", "/l", children, own, rule);
  } catch (error) {
    return (error as Error).message;
  }
}

const sequences = fc.oneof(fc.nat(8), fc.nat(2_000), fc.integer({ min: 0, max: 2_147_483_647 }));

it("shows each node of a plain queue what the whole listing shows it, and reads no more than four names", () => {
  const queues = fc.uniqueArray(sequences, { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(queues, fc.constantFrom(mutexRule, latchRule), (made, rule) => {
      const names = made.map((sequence, i) => node(rule.base, sequence, i));
      for (const own of names) {
        const few = namesThatDecide(listing(names), own, rule);
        expect(few.length).toBeLessThanOrEqual(4);
        expect(seen(few, own, rule)).toEqual(seen(names, own, rule));
      }
    }),
  );
});

it("shows what the whole listing shows, whatever else is in it: foreign names, equal numbers, a node that is not there", () => {
  const others = fc.oneof(
    sequences.map((sequence) => node("lock-", sequence, 77)),
    sequences.map((sequence) => node("latch-", sequence)),
    sequences.map((sequence) => `lock-${String(sequence).padStart(10, "0")}`),
    fc.constantFrom(
      "",
      "lock-",
      "0000000001",
      "-0000000001",
      "x-lock-000000001",
      "ä-lock-0000000003",
      "lock--000000001",
    ),
    fc.string(),
  );
  const queues = fc.array(
    fc.oneof({ weight: 3, arbitrary: sequences.map((each) => node("lock-", each)) }, others),
    {
      minLength: 1,
      maxLength: 12,
    },
  );
  fc.assert(
    fc.property(queues, fc.constantFrom(mutexRule, writeRule), (names, rule) => {
      for (const own of [...names, node("lock-", 4, 99)]) {
        expect(seen(namesThatDecide(listing(names), own, rule), own, rule)).toEqual(seen(names, own, rule));
      }
    }),
    { numRuns: 2_000 },
  );
});

it("is read once for the first node that looks, and sorted once for all further ones", () => {
  const names = [3, 1, 2].map((sequence) => node("lock-", sequence));
  const [third, first, second] = names as [string, string, string];
  const shared = listing(names);
  const few = namesThatDecide(shared, first, mutexRule);
  expect(few).toEqual([first]);
  expect(namesThatDecide(shared, first, mutexRule)).toBe(few);
  expect(namesThatDecide(shared, second, mutexRule)).toBe(shared.children);
  expect(namesThatDecide(shared, third, mutexRule)).toBe(shared.children);
});
