import type { PrimitiveKind } from "@holdfast/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { latchBase, leaseBase, mutexBase, readBase, writeBase } from "../../src/layout/queue-order.js";
import { recogniseTree } from "../../src/layout/recognise-tree.js";
import type { BareTree, TreeNode } from "../../src/layout/tree.js";
import { branch, named, names, node, stat, tree } from "./trees.js";

const lock = (sequence: number | string, session = sequence as number, data?: string): TreeNode =>
  node(named(mutexBase, sequence, session), session, data);
const read = (sequence: number, session: number, maker = session): TreeNode =>
  node(named(readBase, sequence, maker), session);
const write = (sequence: number, session: number): TreeNode =>
  node(named(writeBase, sequence, session), session);

describe("the queue of a mutex", () => {
  it("has the lowest number as its holder and shows session, age, token and data of all participants", () => {
    const [first, second] = [lock(3, 7, "job-1"), lock(4, 8)];
    const found = recogniseTree(tree([second, first]));
    expect(found).toMatchObject({ family: "mutex", kind: "mutex", guessed: false, findings: [] });
    expect(found.holders).toEqual([
      {
        path: `/app/lock/${first.name}`,
        name: first.name,
        mode: "exclusive",
        session: 7n,
        sinceMs: 1_000,
        token: first.stat?.czxid,
        label: "job-1",
        address: null,
        recognisedAs: "curator",
      },
    ]);
    expect(found.waiters).toMatchObject([
      { name: second.name, session: 8n, label: null, address: "192.0.2.1" },
    ]);
  });

  it("may be of the kind that is asked for, where its nodes can be that", () => {
    const mutex = tree([lock(0, 1)]);
    expect(recogniseTree(mutex, { kind: "leader-election" }).kind).toBe("leader-election");
    expect(recogniseTree(mutex, { kind: "reentrant-mutex" }).kind).toBe("reentrant-mutex");
    expect(recogniseTree(mutex, { kind: "semaphore" }).kind).toBe("mutex");
  });

  it("marks the reader's own nodes, and those with the text of `identity`", () => {
    const [own, ours] = [lock(0, 1), lock(1, 2, '192.0.2.1 {"host":"h","pid":1}')];
    const found = recogniseTree(tree([own, ours]), { ours: (path) => path.endsWith(own.name) });
    expect([...found.holders, ...found.waiters].map(({ recognisedAs }) => recognisedAs)).toEqual([
      "holdfast",
      "holdfast",
    ]);
  });

  it("is read from names alone, too", () => {
    const bare = { name: named(mutexBase, 0), stat: null, data: null };
    const found = recogniseTree({ path: "/l", stat: null, data: null, children: [bare] });
    expect(found.holders).toMatchObject([{ name: bare.name, session: null, sinceMs: null, token: null }]);
  });
});

describe("the queue of a read-write lock", () => {
  it("is held by all readers in front of the first writer", () => {
    const queue = [read(0, 1), read(1, 2), write(2, 3), read(3, 1)];
    const found = recogniseTree(tree([...queue].reverse()));
    expect(found.kind).toBe("read-write-lock");
    expect(names(found.holders)).toEqual(names(queue.slice(0, 2)));
    expect(found.waiters.map(({ mode }) => mode)).toEqual(["exclusive", "shared"]);
  });

  it("is held by readers alone when there is no writer", () => {
    expect(recogniseTree(tree([read(0, 1), read(1, 2)])).waiters).toEqual([]);
  });

  it.each(["before", "behind"])(
    "is held by the writer at its head and the read that has its number, listed %s it; that one has the write's token",
    (where) => {
      const writer = write(4, 1);
      const beside = read(4, 1, 9);
      const rest = [read(5, 2), write(6, 3)];
      const found = recogniseTree(
        tree(where === "before" ? [beside, writer, ...rest] : [writer, beside, ...rest]),
      );
      expect(found.holders.map(({ mode, token }) => [mode, token]).sort()).toEqual([
        ["exclusive", writer.stat?.czxid],
        ["shared", writer.stat?.czxid],
      ]);
      expect(names(found.waiters)).toEqual(names(rest));
      expect(found.findings).toEqual([]);
    },
  );

  it("shows no token for a read that its writer has left in front of older nodes", () => {
    const waiting = write(5, 2);
    const left = read(4, 1);
    const found = recogniseTree(tree([waiting, left]));
    expect(found.holders).toMatchObject([{ name: left.name, token: null }]);
    expect(recogniseTree(tree([left])).holders).toMatchObject([{ token: left.stat?.czxid }]);
  });
});

describe("a semaphore", () => {
  const lease = (sequence: number, session: number): TreeNode =>
    node(named(leaseBase, sequence, session), session);
  const [a, b, c] = [lease(0, 1), lease(1, 1), lease(2, 2)];
  const [head, next] = [lock(5, 2), lock(6, 3)];
  const sub = [node("locks", 0), node("leases", 0)];
  const semaphore: BareTree = tree(sub, { leases: branch([c, b, a]), locks: branch([next, head]) });

  it("is held by its leases, with the queue in `locks`", () => {
    const found = recogniseTree(semaphore);
    expect(found).toMatchObject({ family: "semaphore", kind: "semaphore", findings: [] });
    expect(names(found.holders)).toEqual(names([a, b, c]));
    expect(names(found.waiters)).toEqual(names([head, next]));
    expect(found.holders[0]?.path).toBe(`/app/lock/leases/${a.name}`);
    expect(found.waiters[0]?.path).toBe(`/app/lock/locks/${head.name}`);
  });

  it("with a known limit does not count the newest lease of the waiter at the head", () => {
    expect(names(recogniseTree(semaphore, { limit: 2 }).holders)).toEqual(names([a, b]));
    expect(recogniseTree(semaphore, { limit: 3 }).holders).toHaveLength(3);
  });

  it("counts a lease too many that is not the head's", () => {
    const other = { ...semaphore, locks: branch([next]) };
    expect(recogniseTree(other, { limit: 2 }).holders).toHaveLength(3);
  });

  it("that is asked for as a mutex has a limit of one, and exclusive holders", () => {
    const mutex = tree(sub, { leases: branch([lease(0, 1), lease(1, 2)]), locks: branch([lock(1, 2)]) });
    const found = recogniseTree(mutex, { kind: "semaphore-mutex" });
    expect(found.kind).toBe("semaphore-mutex");
    expect(found.holders).toMatchObject([{ mode: "exclusive", session: 1n }]);
  });

  it("is recognised by its permits alone when they are looked at by themselves", () => {
    const found = recogniseTree(tree([a, b], { path: "/app/lock/leases" }));
    expect(names(found.holders)).toEqual(names([a, b]));
    expect(found.findings).toEqual([{ type: "lone-permits", path: "/app/lock/leases", permits: 2 }]);
  });

  it("that is not used yet, or was not read further, is recognised all the same", () => {
    expect(recogniseTree(tree(sub))).toMatchObject({ kind: "semaphore", holders: [], waiters: [] });
  });
});

describe("an election", () => {
  it("with latch nodes shows their data as the label, an address too", () => {
    const [first, second] = [node(named(latchBase, 0), 1, "192.0.2.7"), node(named(latchBase, 1), 2, "")];
    const found = recogniseTree(tree([second, first]));
    expect(found.kind).toBe("leader-election");
    expect(found.holders).toMatchObject([{ label: "192.0.2.7", address: null }]);
    expect(found.waiters).toMatchObject([{ label: null, address: null }]);
  });

  it("shows no label once a revoke message was written over it", () => {
    expect(recogniseTree(tree([node(named(latchBase, 0), 1, "__REVOKE__")])).holders).toMatchObject([
      { label: null },
    ]);
  });
});

describe("a node alone", () => {
  const leaf = (data: string, of = {}): BareTree =>
    tree([], { stat: stat({ dataLength: data.length, ...of }), data: Buffer.from(data, "latin1") });

  it.each([
    ["four bytes", "\u0000\u0000\u0000\u0006", "shared-count"],
    ["eight bytes", "\u0000\u0000\u0000\u0000\u0000\u0000\u0000*", "atomic-long"],
    ["an address of eight letters", "10.0.0.1", "barrier"],
    ["a text of four", "true", null],
    ["a text of eight", "job-1234", null],
    ["nothing", "", null],
    ["nine bytes", "\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000*", null],
  ])("with %s is guessed by them", (_what, data, kind) => {
    expect(recogniseTree(leaf(data))).toMatchObject({ kind, guessed: kind !== null, holders: [] });
  });

  it("that is ephemeral is a naive lock, held by its owner", () => {
    const found = recogniseTree(leaf("192.0.2.1", { ephemeralOwner: 5n, czxid: 9n }));
    expect(found).toMatchObject({ kind: "naive-mutex", guessed: true });
    expect(found.holders).toMatchObject([{ path: "/app/lock", session: 5n, token: 9n }]);
  });

  it("is not guessed at when it has children", () => {
    expect(recogniseTree(leaf("\u0000\u0000\u0000\u0006", { numChildren: 1 })).kind).toBeNull();
    expect(recogniseTree({ ...leaf("\u0000\u0000\u0000\u0006"), children: [node("x", 0)] }).kind).toBeNull();
  });
});

describe("a double barrier", () => {
  const members = [1, 2].map((n) => node(`00000000-0000-4000-8000-00000000000${n}`, n));

  it("has its members waiting until `ready` is there, and inside from then on", () => {
    expect(recogniseTree(tree(members))).toMatchObject({
      kind: "double-barrier",
      holders: [],
      waiters: [{}, {}],
    });
    const ready = node("ready", 0);
    expect(recogniseTree(tree([...members, ready]))).toMatchObject({ holders: [{}, {}], waiters: [] });
  });
});

describe("any tree at all", () => {
  const seed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 2 ** 31);
  const bases = [mutexBase, latchBase, leaseBase, readBase, writeBase, "__lock__", "__rlock__"];
  const name = fc.oneof(
    fc.string({ minLength: 1 }).filter((text) => !text.includes("/")),
    fc.constantFrom(
      "locks",
      "leases",
      "ready",
      "-abc",
      "zzz",
      "0123456789abcdef0123456789abcdef",
      "lock-",
      "__READ__",
    ),
    fc.uuid(),
    fc
      .tuple(fc.constantFrom(...bases), fc.nat(2 ** 31 - 1), fc.uuid(), fc.constantFrom("_c_", ""))
      .map(
        ([base, sequence, guid, prefix]) => `${prefix}${guid}-${base}${String(sequence).padStart(10, "0")}`,
      ),
    fc.constantFrom(...bases).map((base) => named(base, "-2147483648")),
  );
  const anyStat = fc.record({
    czxid: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
    ephemeralOwner: fc.constantFrom(0n, 1n, 2n, -5n),
    cversion: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    numChildren: fc.nat(1_000),
  });
  const treeNode = fc.record({
    name,
    stat: fc.option(anyStat.map((of) => stat(of))),
    data: fc.option(fc.uint8Array({ maxLength: 20 })),
  });
  const anyBranch = fc.record({
    stat: fc.option(anyStat.map((of) => stat(of))),
    children: fc.array(treeNode, { maxLength: 12 }),
  });
  const anyTree = fc
    .tuple(anyBranch, fc.option(fc.uint8Array({ maxLength: 9 })), fc.option(anyBranch), fc.option(anyBranch))
    .map(
      ([root, data, locks, leases]): BareTree => ({
        path: "/x",
        data,
        ...root,
        ...(locks === null ? {} : { locks }),
        ...(leases === null ? {} : { leases }),
      }),
    );
  const hints = fc.record(
    {
      kind: fc.constantFrom<PrimitiveKind>(
        "mutex",
        "semaphore",
        "semaphore-mutex",
        "leader-election",
        "read-write-lock",
        "naive-mutex",
      ),
      limit: fc.nat(5),
    },
    { requiredKeys: [] },
  );

  it(`is read without an error, and no participant is named twice [seed ${seed}]`, () => {
    fc.assert(
      fc.property(anyTree, hints, (bare, given) => {
        const unique = (branchOf: readonly TreeNode[]): TreeNode[] => [
          ...new Map(branchOf.map((each) => [each.name, each])).values(),
        ];
        const once = {
          ...bare,
          children: unique(bare.children),
          ...(bare.locks && { locks: { ...bare.locks, children: unique(bare.locks.children) } }),
          ...(bare.leases && { leases: { ...bare.leases, children: unique(bare.leases.children) } }),
        };
        const found = recogniseTree(once, given);
        const paths = [...found.holders, ...found.waiters].map(({ path }) => path);
        expect(new Set(paths).size).toBe(paths.length);
        expect(() => recogniseTree(bare, given)).not.toThrow();
      }),
      { seed, numRuns: 1_000 },
    );
  });

  it(`says the same in whatever order it was listed, as long as no two numbers are the same [seed ${seed}]`, () => {
    const queue = fc
      .uniqueArray(fc.nat(2 ** 31 - 1), { minLength: 1, maxLength: 8 })
      .chain((numbers) =>
        fc.tuple(
          fc.constant(numbers),
          fc.array(fc.constantFrom(readBase, writeBase), {
            minLength: numbers.length,
            maxLength: numbers.length,
          }),
        ),
      )
      .map(([numbers, kinds]) => numbers.map((n, at) => node(named(kinds[at] as string, n, at), at + 1)));
    fc.assert(
      fc.property(queue, (nodes) => {
        const one = recogniseTree(tree(nodes));
        const other = recogniseTree(tree([...nodes].reverse()));
        expect(names(other.holders)).toEqual(names(one.holders));
        expect(names(other.waiters)).toEqual(names(one.waiters));
        // Holders that stand together are compatible: there is one, or all of them are shared.
        const modes = new Set(one.holders.map(({ mode }) => mode));
        expect(one.holders.length === 1 || !modes.has("exclusive")).toBe(true);
        expect(one.holders).not.toEqual([]);
      }),
      { seed },
    );
  });
});
