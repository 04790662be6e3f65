import type { LockEventBase, LockMode, PrimitiveKind } from "@holdfast/core";

/** A client with a grant that it has not given back and of whose loss it has not heard. */
export interface Believer {
  readonly client: string;
  readonly name: string;
  readonly owner: string;
  readonly kind: PrimitiveKind;
  readonly mode: LockMode;
  /** How many permits of a semaphore; 1 for all others. */
  readonly permits: number;
  readonly token: bigint;
  /** How many owners have had the lock under this token before. */
  readonly turn: number;
  /** czxid of the node that it holds by: the token, but for a read beside a write, which bears the write's. */
  readonly node: bigint;
  /** `null` when the node was gone already, which only a session ended by force excuses. */
  readonly session: bigint | null;
}

/** The events of a semaphore do not carry how many permits were asked for: the label does. */
export function permitsLabel(permits: number): string {
  return `permits ${permits}`;
}

export function permitsOf({ owner }: LockEventBase): number {
  const told = /^permits (\d+)$/.exec(owner.label ?? "");
  return told === null ? 1 : Number(told[1]);
}

/** Whether one of two must not hold while the other does. Permits are counted instead. */
export function exclude(one: Believer, other: Believer): boolean {
  if (one.name !== other.name || one.kind === "semaphore") return false;
  // A read beside a write of the same owner, and the write that it is beside.
  if (one.client === other.client && one.owner === other.owner) return false;
  return one.mode === "exclusive" || other.mode === "exclusive";
}
