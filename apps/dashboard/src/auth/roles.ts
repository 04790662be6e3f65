/** A viewer may look; an operator also asks holders and mutes findings; an admin also forces, evicts and cleans. */
export type Role = "viewer" | "operator" | "admin";

/** The caller of a request. `name: null`: a caller without credentials. */
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
