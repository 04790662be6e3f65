import { describe, expect, it } from "vitest";
import type { LayoutFinding } from "../../src/layout/layout-finding.js";
import { latchBase, leaseBase, mutexBase, readBase, writeBase } from "../../src/layout/queue-order.js";
import { recogniseTree } from "../../src/layout/recognise-tree.js";
import type { BareTree, TreeHints } from "../../src/layout/tree.js";
import { branch, named, node, stat, tree } from "./trees.js";

const path = "/app/lock";
const lock = (sequence: number | string, session = 1) => node(named(mutexBase, sequence, session), session);

function findings(bare: BareTree, hints?: TreeHints): readonly LayoutFinding[] {
  return recogniseTree(bare, hints).findings;
}

describe("a foreign child", () => {
  it("that sorts before a contender blocks it, and the head was never granted when it came later", () => {
    const head = lock(0);
    const intruder = node("-abc", 0);
    const bare = tree([head, intruder]);
    expect(findings(bare)).toEqual([{ type: "foreign-child", path, child: "-abc", effect: "blocks" }]);
    expect(recogniseTree(bare).holders, "the lock was there first").toHaveLength(1);
    const late = recogniseTree(tree([intruder, lock(1)]));
    expect(late).toMatchObject({ holders: [], waiters: [{}] });
  });

  it("that sorts behind all blocks no contender", () => {
    expect(findings(tree([lock(0), node("zzz", 0)]))).toEqual([
      { type: "foreign-child", path, child: "zzz", effect: "none" },
    ]);
  });

  it("blocks writers and not readers", () => {
    const readers = [node(named(readBase, 0), 1)];
    expect(findings(tree([...readers, node("-abc", 0)]))).toMatchObject([{ effect: "none" }]);
    const writer = node(named(writeBase, 1), 2);
    expect(findings(tree([...readers, writer, node("-abc", 0)]))).toMatchObject([{ effect: "blocks" }]);
  });

  it("among the leases takes a permit, and beside them does nothing", () => {
    const lease = node(named(leaseBase, 0), 1);
    const bare = tree([node("locks", 0), node("leases", 0), node("notes", 0)], {
      locks: branch([lock(0), node("-abc", 0), lock(1)]),
      leases: branch([lease, node("spare", 0)]),
    });
    expect(findings(bare)).toEqual([
      { type: "foreign-child", path, child: "notes", effect: "none" },
      { type: "foreign-child", path: `${path}/locks`, child: "-abc", effect: "blocks" },
      { type: "foreign-child", path: `${path}/leases`, child: "spare", effect: "takes-permit" },
    ]);
    expect(recogniseTree(bare).holders).toHaveLength(2);
  });

  it("is none of ours to find in a clean queue", () => {
    expect(findings(tree([lock(0), lock(1)]))).toEqual([]);
  });
});

describe("two kinds on one path", () => {
  it("are reported with a child of each, and the one that is asked for is shown", () => {
    const [mutex, latch] = [lock(0), node(named(latchBase, 1), 2, "id")];
    const bare = tree([latch, mutex]);
    expect(findings(bare)).toEqual([
      {
        type: "mixed-kinds",
        path,
        families: expect.arrayContaining(["mutex", "leader-latch"]),
        children: expect.arrayContaining([mutex.name, latch.name]),
      },
    ]);
    expect(recogniseTree(bare, { kind: "mutex" }).holders).toMatchObject([{ name: mutex.name }]);
    expect(recogniseTree(tree([latch, lock(3)]), { kind: "leader-election" }).family).toBe("leader-latch");
  });

  it("are kazoo's lock and Curator's, which do not see each other", () => {
    const theirs = node("0123456789abcdef0123456789abcdef__lock__0000000000", 1);
    const mixed = tree([theirs, lock(1, 2)]);
    expect(findings(mixed).map(({ type }) => type)).toEqual(["mixed-kinds", "kazoo-names"]);
    expect(findings(tree([theirs]))).toEqual([{ type: "kazoo-names", path, children: [theirs.name] }]);
  });
});

describe("the sequence counter", () => {
  it.each([
    ["999999999", null],
    ["1000000000", "warn"],
    ["1999999999", "warn"],
    ["2000000000", "refuse"],
    ["2147483647", "refuse"],
  ])("that stands at %s by a name: %s", (digits, level) => {
    const told = findings(tree([lock(digits.padStart(10, "0"))]));
    if (level === null) expect(told).toEqual([]);
    else expect(told).toEqual([{ type: "sequence-high", path, sequence: Number(digits), level }]);
  });

  it("that has wrapped is refused", () => {
    expect(findings(tree([lock("-2147483648")]))).toMatchObject([{ type: "sequence-high", level: "refuse" }]);
  });

  it("is found in the stat of the path, as the number of the next child, when the queue has gone down", () => {
    // 1,500,000,000 children were made and all but one deleted. The server counts both in one number, which has turned negative.
    const cversion = (2 * 1_500_000_000 - 1) | 0;
    const bare = tree([lock("0000000007")], { stat: stat({ cversion, numChildren: 1 }) });
    expect(cversion).toBeLessThan(0);
    expect(findings(bare)).toEqual([{ type: "sequence-high", path, sequence: 1_500_000_000, level: "warn" }]);
  });

  it("is looked at in the queue and in the leases of a semaphore", () => {
    const bare = tree([node("locks", 0), node("leases", 0)], {
      locks: branch([lock("1000000001")]),
      leases: branch([node(named(leaseBase, "2000000001"), 1)]),
    });
    expect(findings(bare)).toMatchObject([
      { path: `${path}/locks`, level: "warn" },
      { path: `${path}/leases`, level: "refuse" },
    ]);
  });
});

describe("a read of the old form under a write", () => {
  const writer = node(named(writeBase, 4), 1);
  const queued = node(named(readBase, 5), 2);

  it("is suspected when the session of the held write has a read further back", () => {
    const old = node(named(readBase, 6), 1);
    expect(findings(tree([writer, queued, old]))).toEqual([
      {
        type: "possible-old-downgrade",
        path,
        write: `${path}/${writer.name}`,
        read: `${path}/${old.name}`,
        session: 1n,
      },
    ]);
  });

  it("is not suspected in the form that bears the write's number, of another session, or of this library", () => {
    const beside = node(named(readBase, 4, 9), 1);
    expect(findings(tree([writer, beside, queued]))).toEqual([]);
    const ours = node(named(readBase, 6), 1);
    expect(findings(tree([writer, ours]), { ours: (each) => each.endsWith(ours.name) })).toEqual([]);
  });

  it("is not suspected behind a write that waits itself", () => {
    expect(findings(tree([node(named(readBase, 3), 3), writer, node(named(readBase, 6), 1)]))).toEqual([]);
  });
});
