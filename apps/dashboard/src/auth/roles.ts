/**
 * A viewer may look. An operator may also ask holders to release and mute findings. An admin may also force, evict and
 * clean.
 */
export type Role = "viewer" | "operator" | "admin";

/** The caller of a request. `name` is null for a caller without credentials. */
export interface Principal {
  /** Shown on the page and in the audit; `null` without credentials. */
  readonly name: string | null;
  /** What the principal may do. */
  readonly role: Role;
}

const ranks: Readonly<Record<Role, number>> = { viewer: 0, operator: 1, admin: 2 };

export function isRole(value: unknown): value is Role {
  return typeof value === "string" && Object.hasOwn(ranks, value);
}

export function atLeast(role: Role, needed: Role): boolean {
  return ranks[role] >= ranks[needed];
}
