import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  inQueueOrder,
  isContender,
  mutexBase,
  protectionPrefix,
  sequenceOf,
  sortKey,
} from "../../src/layout/queue-order.js";

const guid = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
const node = (n: number, sequence: string): string => `${protectionPrefix(guid(n))}lock-${sequence}`;

describe("the queue's order", () => {
  it("is that of the numbers, whatever the protection prefix says", () => {
    const names = [node(9, "0000000002"), node(1, "0000000010"), node(5, "0000000001")];
    expect(inQueueOrder(names, mutexBase).map((name) => sortKey(name, mutexBase))).toEqual([
      "0000000001",
      "0000000002",
      "0000000010",
    ]);
  });

  it("cuts at the last base name, so that a base name inside the prefix does not count", () => {
    expect(sortKey("lock-9-lock-0000000003", mutexBase)).toBe("0000000003");
  });

  it("compares text, not numbers: a wrapped counter sorts before all others, as Curator has it", () => {
    const names = [node(1, "0000000000"), node(2, "-2147483648")];
    expect(inQueueOrder(names, mutexBase)[0]).toBe(node(2, "-2147483648"));
  });

  it("keeps foreign children: one that begins below the digits stands first, one above stands last", () => {
    const own = node(1, "0000000000");
    expect(inQueueOrder(["zzz", own, "-abc"], mutexBase)).toEqual(["-abc", own, "zzz"]);
  });

  it("keeps the server's order among ties", () => {
    const names = [node(7, "2147483647"), node(3, "2147483647")];
    expect(inQueueOrder(names, mutexBase)).toEqual(names);
  });

  it("is the same whatever order the server lists distinct numbers in", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat(2_000_000_000), { maxLength: 30 }),
        fc.infiniteStream(fc.nat()),
        (numbers, seeds) => {
          const names = numbers.map((n, i) => node(i, String(n).padStart(10, "0")));
          const shuffled = [...names].sort(() => ((seeds.next().value as number) % 3) - 1);
          expect(inQueueOrder(shuffled, mutexBase)).toEqual(inQueueOrder(names, mutexBase));
        },
      ),
    );
  });
});

describe("a contender's number", () => {
  it.each([
    [node(1, "0000000042"), 42],
    [node(1, "-2147483648"), -2147483648],
    [node(1, "-000000001"), -1],
    ["lock-0000000001", 1],
    ["lock-1", null],
    ["lock-", null],
    [`${protectionPrefix(guid(1))}__WRIT__0000000001`, null],
  ])("of %s is %s", (name, sequence) => {
    expect(sequenceOf(name, mutexBase)).toBe(sequence);
    expect(isContender(name, mutexBase)).toBe(sequence !== null);
  });
});
