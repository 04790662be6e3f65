import type { PrimitiveKind } from "@holdfast/core";
import {
  inQueueOrder,
  isContender,
  latchBase,
  mutexBase,
  readBase,
  sortKey,
  writeBase,
} from "./queue-order.js";

/** The recipe that uses a path, as far as the names of its children tell. */
export type LayoutFamily =
  | "mutex"
  | "read-write-lock"
  | "semaphore"
  | "leader-latch"
  | "double-barrier"
  | "kazoo";

const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const markers: readonly (readonly [LayoutFamily, RegExp])[] = [
  ["read-write-lock", /__(READ|WRIT)__-?\d{9,10}$/],
  ["leader-latch", /latch-\d{10}$/],
  ["kazoo", /__r?lock__-?\d{9,10}$/],
  ["semaphore", /^(locks|leases)$|lease-\d{10}$/],
  ["double-barrier", new RegExp(`^(ready|${uuid})$`)],
];

/** The family that a child's name belongs to, or `null` when it belongs to no known family. */
export function familyOf(name: string): LayoutFamily | null {
  if (isContender(name, mutexBase)) return "mutex";
  return markers.find(([, pattern]) => pattern.test(name))?.[0] ?? null;
}

/**
 * Whether a name is one of kazoo's: of `Lock`, `WriteLock` or `ReadLock`, or a bare id of a member of its `Semaphore` or
 * `DoubleBarrier`.
 */
export function isKazooName(name: string): boolean {
  return familyOf(name) === "kazoo" || /^[0-9a-f]{32}$/.test(name);
}

/**
 * The primitives that a family's nodes can be, the plain one first. The names on the server do not tell these primitives
 * apart.
 */
const kindsOf: Readonly<Record<LayoutFamily, readonly [PrimitiveKind, ...PrimitiveKind[]]>> = {
  mutex: ["mutex", "reentrant-mutex", "leader-election"],
  "read-write-lock": ["read-write-lock", "reentrant-read-write-lock"],
  semaphore: ["semaphore", "semaphore-mutex"],
  "leader-latch": ["leader-election"],
  "double-barrier": ["double-barrier"],
  kazoo: ["mutex"],
};

/** Whether a primitive of this kind works with such nodes. */
export function serves(family: LayoutFamily, kind: PrimitiveKind): boolean {
  return family !== "kazoo" && kindsOf[family].includes(kind);
}

/** The primitive behind a family: `asked` if the nodes can be of that kind, else the plain one. */
export function kindOf(family: LayoutFamily, asked: PrimitiveKind | null = null): PrimitiveKind {
  return asked !== null && serves(family, asked) ? asked : kindsOf[family][0];
}

const basesOf: Readonly<Partial<Record<LayoutFamily, readonly string[]>>> = {
  mutex: [mutexBase],
  "leader-latch": [latchBase],
  "read-write-lock": [readBase, writeBase],
};

export interface QueueOrder {
  /** All children, as Curator sorts them. */
  readonly order: readonly string[];
  /** The children that the server has numbered for this recipe. */
  readonly contenders: readonly string[];
  /** How many of the contenders hold at once, counted from the first; the others wait. */
  readonly holding: number;
}

/** The queue of a family that has its queue right below its path: mutex, leader latch, read-write lock. */
export function queueOf(family: LayoutFamily, children: readonly string[]): QueueOrder {
  const bases = basesOf[family] ?? [];
  const order = inQueueOrder(children, ...bases);
  const contenders = order.filter((name) => isContender(name, ...bases));
  const holding =
    family === "read-write-lock" ? holdingReadWrite(contenders) : Math.min(1, contenders.length);
  return { order, contenders, holding };
}

/**
 * The writer at the head together with a read that has the same number, taken beside it; or all readers before the first
 * writer.
 */
function holdingReadWrite(contenders: readonly string[]): number {
  const writer = contenders.findIndex((name) => name.includes(writeBase));
  if (writer < 0) return contenders.length;
  const headKey = numberOf(contenders[0] as string);
  if (numberOf(contenders[writer] as string) !== headKey) return writer;
  return contenders.filter((name) => numberOf(name) === headKey).length;
}

/** The digits of a read-write node. A read beside a write has the digits of the write. */
export function numberOf(name: string): string {
  return sortKey(name, readBase, writeBase);
}

/** Names of the nodes that hold a queue, by the family of the first recognised child. None for a path without a queue. */
export function holdersOf(children: readonly string[]): readonly string[] {
  const family = children.map(familyOf).find((found) => found !== null) ?? null;
  if (family === null || basesOf[family] === undefined) return [];
  const { contenders, holding } = queueOf(family, children);
  return contenders.slice(0, holding);
}
