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
  /** Whom, in the words of the scheme: `anyone` for `world`, `user:hash` for `digest`. */
  readonly id: string;
}

/** An entry as a client may send it: some write the empty id of the scheme `auth` as null. */
export interface RequestedAcl {
  readonly perms: number;
  readonly scheme: string | null;
  readonly id: string | null;
}

/** Everybody may do everything: what Curator and ZooKeeper's own client use unless told otherwise. */
export const openAcl: readonly Acl[] = Object.freeze([
  Object.freeze({ perms: Perms.ALL, scheme: "world", id: "anyone" }),
]);

export function writeAcl(writer: Writer, acl: readonly RequestedAcl[] | null): void {
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

/** What a server tells: no part of an entry is null. */
export function readAcl(reader: Reader): Acl[] | null {
  return readEntries(reader, () => ({
    perms: reader.int("acl.perms"),
    scheme: reader.string("acl.scheme"),
    id: reader.string("acl.id"),
  }));
}

/**
 * Null is a value of its own here, as the list and in an entry: whether a server answers it with InvalidACL or with MarshallingError, or takes
 * it, depends on the scheme.
 */
export function readRequestedAcl(reader: Reader): RequestedAcl[] | null {
  return readEntries(reader, () => ({
    perms: reader.int("acl.perms"),
    scheme: reader.stringOrNull("acl.scheme"),
    id: reader.stringOrNull("acl.id"),
  }));
}

function readEntries<T>(reader: Reader, read: () => T): T[] | null {
  const count = reader.countOrNull("acl");
  if (count === null) {
    return null;
  }
  const entries: T[] = [];
  for (let i = 0; i < count; i++) {
    entries.push(read());
  }
  return entries;
}
