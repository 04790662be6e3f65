import { kindOf } from "./recognise.js";
import { byAge, describeNode } from "./recognise-participant.js";
import type { BareTree, RecognisedTree, TreeHints } from "./tree.js";

const numbered = /__(r?)lock__(-?\d{9,10})$/;

/**
 * The queues of kazoo. `Lock` and `WriteLock` make `<hex>__lock__<number>`, and `ReadLock` makes
 * `<hex>__rlock__<number>`; on one path they share one queue.
 *
 * Nodes of kazoo's other recipes have bare ids. A `DoubleBarrier` has them until all members have left, with `ready`
 * beside them once all are there. A `Semaphore` has them as leases, and its queue is beside the path (`<path>-__lock__`).
 * A `DoubleBarrier` without `ready` and a `Semaphore` look alike.
 */
export function recogniseKazoo(tree: BareTree, hints: TreeHints): RecognisedTree {
  const queue = tree.children
    .flatMap((node) => {
      const match = numbered.exec(node.name);
      return match === null ? [] : [{ node, reads: match[1] === "r", key: match[2] as string }];
    })
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  if (queue.length === 0) return recogniseIds(tree, hints);
  const people = queue.map(({ node, reads }) =>
    describeNode("kazoo", tree.path, node, reads ? "shared" : "exclusive", hints),
  );
  const writer = queue.findIndex(({ reads }) => !reads);
  const holding = writer === 0 ? 1 : writer < 0 ? queue.length : writer;
  return {
    family: "kazoo",
    kind: queue.some(({ reads }) => reads) ? "read-write-lock" : kindOf("kazoo"),
    guessed: false,
    holders: people.slice(0, holding),
    waiters: people.slice(holding),
    findings: [],
  };
}

function recogniseIds(tree: BareTree, hints: TreeHints): RecognisedTree {
  const open = tree.children.some(({ name }) => name === "ready");
  const people = tree.children
    .filter(({ name }) => name !== "ready")
    .map((node) => describeNode("kazoo", tree.path, node, "shared", hints))
    .sort(byAge);
  return {
    family: "kazoo",
    kind: open ? "double-barrier" : "semaphore",
    guessed: !open,
    holders: people,
    waiters: [],
    findings: [],
  };
}
