import type { PrimitiveKind } from "../api/capabilities.js";
import type { Owner } from "../api/values.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";

/** What decides whether a kept lock may be lent to a request. An `AcquireSpec` has all of it. */
export interface KeepTerms {
  readonly kind: PrimitiveKind;
  readonly name: string;
  readonly owner: Owner;
  readonly options: ResolvedAcquireOptions;
}

/**
 * Whether a lock that was granted for the terms `granted` may be lent to a request with the terms `asked`. Both are keepable,
 * and so exclusive. The terms have to be the same: otherwise the entry at the backend would show another owner's label or
 * have another lease, or resources would compare something else. `labelled`: whether entries show labels.
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
