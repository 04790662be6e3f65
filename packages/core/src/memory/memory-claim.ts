import type { PrimitiveKind } from "../api/capabilities.js";
import { LayoutConflictError } from "../api/errors.js";
import type { LockMode } from "../api/values.js";

/** What one entry of a queue asks for, or holds. */
export interface MemoryClaim {
  readonly kind: PrimitiveKind;
  readonly mode: LockMode;
  readonly permits: number;
  /** Semaphores: how many permits there are, by what this client was given. `null` for the others. */
  readonly limit: number | null;
}

/**
 * Whether a claim may be granted beside the entries that hold: a writer alone, readers with readers, permits within the
 * limit. It does not look at waiters that are in front.
 */
export function compatible(claim: MemoryClaim, held: readonly MemoryClaim[]): boolean {
  if (claim.limit !== null) {
    const taken = held.reduce((sum, each) => sum + each.permits, 0);
    return taken + claim.permits <= claim.limit;
  }
  if (claim.mode === "exclusive") return held.length === 0;
  return held.every((each) => each.mode === "shared");
}

/**
 * The error for a claim that must not share the queue with `present`; `undefined` if it may. Primitives that do not exclude
 * each other must not share a name, and clients that disagree on the number of permits must not share a semaphore. `present`
 * is any entry of the queue, because all of them agree.
 */
export function conflictOf(
  name: string,
  claim: MemoryClaim,
  present: MemoryClaim,
): LayoutConflictError | undefined {
  if (familyOf(claim.kind) !== familyOf(present.kind)) {
    return conflict(
      name,
      `"${name}" is in use as a ${present.kind}, and a ${claim.kind} on the same name would not exclude it`,
    );
  }
  if (claim.limit !== present.limit) {
    return conflict(
      name,
      `"${name}" is in use with limit ${present.limit}, and here its limit is ${claim.limit}`,
    );
  }
  return undefined;
}

function conflict(name: string, message: string): LayoutConflictError {
  return new LayoutConflictError(message, { lockName: name, backend: "memory" });
}

/** The family of a kind, named by its first kind. The kinds of one family exclude each other. */
function familyOf(kind: PrimitiveKind): PrimitiveKind {
  if (kind === "reentrant-mutex") return "mutex";
  return kind === "reentrant-read-write-lock" ? "read-write-lock" : kind;
}
