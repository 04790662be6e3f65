import { InvalidArgumentError, type MultiLockPart } from "@holdfast/core";
import { checkMethods, show, type ViewParts, viewPartsOf } from "@holdfast/core/internal";

/** One of the locks of a multi-lock. */
export interface Part {
  readonly lock: MultiLockPart;
  /** `undefined` for an acquirable that has no name. */
  readonly name: string | undefined;
  /** `undefined` for an acquirable that is not a view of core's: then only its methods can be used. */
  readonly view: ViewParts | undefined;
}

export type Parts = readonly [Part, ...Part[]];

/** The parts of each multi-lock. A multi-lock may be a part of another one. */
export const partsOf: WeakMap<object, Parts> = new WeakMap();

/** Throws `InvalidArgumentError` for an empty list, for a part that cannot be acquired, and for the same lock twice. */
export function checkParts(locks: readonly MultiLockPart[]): Parts {
  if (!Array.isArray(locks) || locks.length === 0) {
    throw new InvalidArgumentError(
      `multiLock: parts must be an array of one lock or more; got ${Array.isArray(locks) ? "none" : show(locks)}`,
    );
  }
  const parts: Part[] = [];
  const taken: (readonly [lock: Part, index: number])[] = [];
  for (const [i, lock] of locks.entries()) {
    if (lock === undefined) throw new InvalidArgumentError(`multiLock: parts[${i}] is undefined`);
    checkMethods(`multiLock: parts[${i}]`, lock, ["acquire", "tryAcquire"]);
    const { name } = lock as { name?: unknown };
    const part = { lock, name: typeof name === "string" ? name : undefined, view: viewPartsOf(lock) };
    checkGivenBack(part, i);
    const inside = locksIn(part);
    for (const one of inside) {
      const same = taken.find(([other]) => isSame(other, one));
      if (same === undefined) continue;
      throw new InvalidArgumentError(
        `multiLock: parts[${same[1]}] and parts[${i}] take the same lock${one.name === undefined ? "" : `, "${one.name}"`}: ` +
          "the second would wait for the first for ever",
        one.name === undefined ? {} : { lockName: one.name },
      );
    }
    taken.push(...inside.map((one) => [one, i] as const));
    parts.push(part);
  }
  return parts as unknown as Parts;
}

/** Throws for `holdAtLeastMs`: a part is released when a later one is not granted, and must not stay taken then. */
function checkGivenBack({ view, name }: Part, index: number): void {
  const holdAtLeastMs = view?.defaults.holdAtLeastMs ?? 0;
  if (holdAtLeastMs === 0) return;
  throw new InvalidArgumentError(
    `multiLock: parts[${index}] has holdAtLeastMs = ${holdAtLeastMs}, which no part of several locks can have`,
    name === undefined ? {} : { lockName: name },
  );
}

/** The locks that a part takes: itself, or all locks that a multi-lock takes. */
export function locksIn(part: Part): readonly Part[] {
  return partsOf.get(part.lock)?.flatMap(locksIn) ?? [part];
}

/** The kind makes no difference: two kinds under one name of one provider block each other, or are one lock. */
function isSame(one: Part, other: Part): boolean {
  if (one.lock === other.lock) return true;
  return one.view !== undefined && one.view.engine === other.view?.engine && one.name === other.name;
}

/**
 * Sorts by name, in the order of code units, which is the same in every process and locale; then by backend. Locks that are
 * equal in both, for example in two ensembles, keep the order in which they were given. Throws `InvalidArgumentError` for a
 * part without a name.
 */
export function sorted(parts: Parts): Parts {
  const nameless = parts.findIndex(({ name }) => name === undefined);
  if (nameless !== -1) {
    throw new InvalidArgumentError(
      `multiLock: parts[${nameless}] has no name to sort by; give all of them one, or order: "given"`,
    );
  }
  return [...parts].sort((a, b) => compare(a.name, b.name) || compare(backendOf(a), backendOf(b))) as [
    Part,
    ...Part[],
  ];
}

function backendOf({ view }: Part): string {
  return view?.engine.backend ?? "";
}

function compare(a = "", b = ""): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * The number of parts from `index` on that can be asked for in one step: neighbours in the order of acquisition, of one
 * driver and of one of its groups. If other parts stood between them, the later ones would be held while those parts are
 * waited for, which breaks the order.
 */
export function togetherFrom(parts: Parts, index: number): number {
  const first = parts[index];
  const group = jointGroupOf(first);
  if (group === null) return 1;
  let end = index + 1;
  for (let part = parts[end]; part?.view?.engine === first?.view?.engine; part = parts[++end]) {
    if (jointGroupOf(part) !== group) break;
  }
  return end - index;
}

function jointGroupOf(part: Part | undefined): string | number | null {
  if (part?.view === undefined || part.name === undefined) return null;
  const { kind, engine } = part.view;
  return engine.driver.jointGroup?.(kind, part.name) ?? null;
}
