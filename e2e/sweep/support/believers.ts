import type { LockEventBase, LockMode, PrimitiveKind } from "@holdfast/core";

/** A client that believes to hold: it has not given its grant back and has not reported its loss. */
export interface Believer {
  readonly client: string;
  readonly name: string;
  readonly owner: string;
  readonly kind: PrimitiveKind;
  readonly mode: LockMode;
  /** The number of permits of a semaphore; 1 for all other kinds. */
  readonly permits: number;
  readonly token: bigint;
  /** How many owners had the lock under this token before. */
  readonly turn: number;
  /** The czxid of its node. It is the token, except for a read beside a write, whose token is the write's. */
  readonly node: bigint;
  /** `null` if the node was already gone at the grant, which only an end by force excuses. */
  readonly session: bigint | null;
}

/** A label that carries the number of permits, because the events of a semaphore do not. */
export function permitsLabel(permits: number): string {
  return `permits ${permits}`;
}

export function permitsOf({ owner }: LockEventBase): number {
  const told = /^permits (\d+)$/.exec(owner.label ?? "");
  return told === null ? 1 : Number(told[1]);
}

/** Whether the two must not hold at the same time. Permits of a semaphore are counted instead. */
export function exclude(one: Believer, other: Believer): boolean {
  if (one.name !== other.name || one.kind === "semaphore") return false;
  // One owner's write and the read beside it do not exclude each other.
  if (one.client === other.client && one.owner === other.owner) return false;
  return one.mode === "exclusive" || other.mode === "exclusive";
}
