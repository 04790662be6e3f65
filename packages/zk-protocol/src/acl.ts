import type { Reader } from "./reader.js";
import type { Writer } from "./writer.js";

/** Bits of `Acl.perms`. Servers check CREATE and DELETE on the parent, the others on the node itself. */
export const Perms = {
  READ: 1,
  WRITE: 2,
  CREATE: 4,
  DELETE: 8,
  ADMIN: 16,
  ALL: 31,
} as const;

/** Who may do what. */
export interface Acl {
  /** Bits of `Perms`. */
  readonly perms: number;
  /** `world`, `digest`, `ip`, `auth`, `x509`, `sasl`. */
  readonly scheme: string;
  readonly id: string;
}

/** Everybody may do everything: what Curator and ZooKeeper's own client use unless told otherwise. */
export const openAcl: readonly Acl[] = Object.freeze([
  Object.freeze({ perms: Perms.ALL, scheme: "world", id: "anyone" }),
]);

export function writeAcl(writer: Writer, acl: readonly Acl[] | null): void {
  if (acl === null) {
    writer.int(-1);
    return;
  }
  writer.int(acl.length);
  for (const entry of acl) {
    writer.int(entry.perms);
    writer.string(entry.scheme);
    writer.string(entry.id);
  }
}

/** Null is a value of its own here: a server answers it with InvalidACL, not with a malformed request. */
export function readAcl(reader: Reader): Acl[] | null {
  const count = reader.countOrNull("acl");
  if (count === null) {
    return null;
  }
  const acl: Acl[] = [];
  for (let i = 0; i < count; i++) {
    acl.push({
      perms: reader.int("acl.perms"),
      scheme: reader.string("acl.scheme"),
      id: reader.string("acl.id"),
    });
  }
  return acl;
}
