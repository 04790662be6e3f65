import type { PrimitiveKind } from "@holdfast/core";
import { isContender, mutexBase } from "./queue-order.js";

/** What the children of a path say about the recipe that uses it. */
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

/** The family that a child's name belongs to, or `null` when it is nobody's that we know. */
export function familyOf(name: string): LayoutFamily | null {
  if (isContender(name, mutexBase)) return "mutex";
  return markers.find(([, pattern]) => pattern.test(name))?.[0] ?? null;
}

const kinds: Readonly<Record<Exclude<LayoutFamily, "kazoo">, PrimitiveKind>> = {
  mutex: "mutex",
  "read-write-lock": "read-write-lock",
  semaphore: "semaphore",
  "leader-latch": "leader-election",
  "double-barrier": "double-barrier",
};

/**
 * The primitive behind a list of children, by the first that is recognised; `null` when none is. A mutex, a Curator
 * `LeaderSelector` and the deprecated `InterProcessSemaphore` look the same and all count as a mutex.
 */
export function recogniseKind(children: readonly string[]): PrimitiveKind | null {
  for (const name of children) {
    const family = familyOf(name);
    if (family !== null) return family === "kazoo" ? "mutex" : kinds[family];
  }
  return null;
}
