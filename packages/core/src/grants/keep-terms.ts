import type { PrimitiveKind } from "../api/capabilities.js";
import type { Owner } from "../api/values.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";

/** What one request says that decides whether a kept lock may be lent to it. An `AcquireSpec` has it all. */
export interface KeepTerms {
  readonly kind: PrimitiveKind;
  readonly name: string;
  readonly owner: Owner;
  readonly options: ResolvedAcquireOptions;
}

/**
 * Whether what was granted to one may be lent to the other; both are keepable, and so exclusive. It has to ask for the same: otherwise
 * the entry at the backend would show another owner's label or live by another lease, or resources would compare something else.
 * `labelled`: entries show labels.
 */
export function isLike(granted: KeepTerms, asked: KeepTerms, labelled: boolean): boolean {
  const { options } = granted;
  const { fresh, leaseMs, fenceBy, label } = asked.options;
  return (
    !fresh &&
    asked.kind === granted.kind &&
    leaseMs === options.leaseMs &&
    fenceBy === options.fenceBy &&
    (!labelled || label === options.label)
  );
}
