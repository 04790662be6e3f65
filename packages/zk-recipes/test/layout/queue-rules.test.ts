import { LayoutConflictError } from "@holdfast/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inQueueOrder } from "../../src/layout/queue-order.js";
import {
  latchRule,
  mutexRule,
  type QueueRule,
  readRule,
  viewQueue,
  writeRule,
} from "../../src/layout/queue-rules.js";

const node = (base: string, sequence: number, maker = sequence): string =>
  `_c_00000000-0000-4000-8000-${String(maker).padStart(12, "0")}-${base}${String(sequence).padStart(10, "0")}`;
const read = (sequence: number, maker = sequence) => node("__READ__", sequence, maker);
const write = (sequence: number) => node("__WRIT__", sequence);

const view = (children: readonly string[], own: string, rule: QueueRule) =>
  viewQueue("l", "/l", children, own, rule);

describe("the queue of a read-write lock", () => {
  const queue = [write(0), read(1), write(2), read(3), read(4)];

  it("is one queue of readers and writers, ordered by number whatever their base names are", () => {
    expect(inQueueOrder([...queue].reverse(), ...readRule.bases)).toEqual(queue);
  });

  it("has a writer wait for the node right ahead", () => {
    expect(view(queue, write(2), writeRule).predecessor).toBe(read(1));
    expect(view(queue, write(0), writeRule).predecessor).toBeNull();
  });

  it("has a reader wait for the nearest writer, not for the first, and not for readers", () => {
    expect(view(queue, read(4), readRule).predecessor).toBe(write(2));
    expect(view(queue, read(1), readRule).predecessor).toBe(write(0));
    expect(view([read(1), read(2), write(3)], read(2), readRule).predecessor).toBeNull();
  });

  it("never lets a waiter hold by an event alone: a read may have been put beside the write that went", () => {
    expect(view([write(0), write(1)], write(1), writeRule).nextIfGone).toBe(false);
    expect(view([write(0), read(1)], read(1), readRule).nextIfGone).toBe(false);
  });

  it("keeps a writer behind a read that took over the number of a write", () => {
    expect(view([read(0, 9), write(2)], write(2), writeRule).predecessor).toBe(read(0, 9));
  });

  it("gives a read to every reader without a writer ahead, and a write to the head alone", () => {
    const children = fc.uniqueArray(fc.record({ sequence: fc.nat(2_000), reads: fc.boolean() }), {
      selector: ({ sequence }) => sequence,
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(children, (made) => {
        const names = made.map(({ sequence, reads }) => (reads ? read(sequence) : write(sequence)));
        const granted = names.filter(
          (own) => view(names, own, own.includes("__READ__") ? readRule : writeRule).predecessor === null,
        );
        const writers = granted.filter((own) => own.includes("__WRIT__"));
        expect(granted.length).toBeGreaterThan(0);
        if (writers.length > 0) expect(granted).toHaveLength(1);
      }),
    );
  });
});

describe("the queues of one holder", () => {
  it.each([
    ["a mutex", mutexRule, "lock-"],
    ["a leader latch", latchRule, "latch-"],
  ])("of %s: the second of two is next when the first is gone", (_title, rule, base) => {
    const queue = [node(base, 0), node(base, 1), node(base, 2)];
    expect(view(queue, node(base, 1), rule)).toMatchObject({
      predecessor: queue[0],
      twoAhead: null,
      nextIfGone: true,
    });
    expect(view(queue, node(base, 2), rule)).toMatchObject({
      predecessor: queue[1],
      twoAhead: queue[0],
      nextIfGone: false,
    });
  });

  it.each([
    [mutexRule, node("lock-", 5), write(1)],
    [mutexRule, node("lock-", 5), node("latch-", 9)],
    [latchRule, node("latch-", 5), node("lock-", 9)],
    [readRule, read(5), node("lock-", 9)],
    [writeRule, write(5), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa__lock__0000000001"],
  ])("refuses a path that another kind of lock uses", (rule, own, foreign) => {
    expect(() => view([own, foreign], own, rule)).toThrow(LayoutConflictError);
  });
});

describe("a listing", () => {
  it("is seen in the order of Curator's text, also where numbers are equal, and from each place in it", () => {
    const numbers = fc.array(fc.oneof(fc.nat(5), fc.nat(2_000), fc.integer({ min: 0, max: 2_147_483_647 })), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(numbers, (made) => {
        const names = made.map((number, i) => node("lock-", number, i));
        const order = inQueueOrder(names, "lock-");
        for (const [i, own] of order.entries()) {
          expect(view(names, own, mutexRule)).toEqual({
            present: true,
            predecessor: order[i - 1] ?? null,
            twoAhead: order[i - 2] ?? null,
            nextIfGone: i === 1,
            orderIsFinal: true,
            head: order[0],
          });
        }
      }),
    );
  });

  it.each(["-0000000001", "0000000004", "__lock__-2147483648"])(
    "is refused where %s, which is no contender of ours, sorts before the own node",
    (foreign) => {
      const own = node("lock-", 5);
      expect(() => view([node("lock-", 4), foreign, own], own, mutexRule)).toThrow(LayoutConflictError);
    },
  );

  it("shows a node with another maker's name and the own number as another node", () => {
    expect(view([node("lock-", 5, 1)], node("lock-", 5, 2), mutexRule).present).toBe(false);
  });
});
