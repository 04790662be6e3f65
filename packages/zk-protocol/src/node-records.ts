import type { Reader, Writer } from "./jute.js";

/** The bits of `Acl.perms`. Servers check CREATE and DELETE on the parent, and the others on the node itself. */
export const Perms = {
  READ: 1,
  WRITE: 2,
  CREATE: 4,
  DELETE: 8,
  ADMIN: 16,
  ALL: 31,
} as const;

/** One entry of an access control list: what a client may do. */
export interface Acl {
  /** Bits of `Perms`. */
  readonly perms: number;
  /** The scheme: `world`, `digest`, `ip`, `auth`, `x509` or `sasl`. */
  readonly scheme: string;
  /** The client, as the scheme names it: `anyone` for `world`, `user:hash` for `digest`. */
  readonly id: string;
}

/** An entry as a client may send it: some clients write the empty id of the scheme `auth` as null. */
export interface RequestedAcl {
  readonly perms: number;
  readonly scheme: string | null;
  readonly id: string | null;
}

/** Every client may do everything. This is the default of Curator and of ZooKeeper's own client. */
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

/** Reads an ACL that a server sends: no part of an entry is null. */
export function readAcl(reader: Reader): Acl[] | null {
  return readEntries(reader, () => ({
    perms: reader.int("acl.perms"),
    scheme: reader.string("acl.scheme"),
    id: reader.string("acl.id"),
  }));
}

/**
 * Reads an ACL that a client sends. The list or parts of an entry may be null, which is a value of its own. A server may
 * answer it with InvalidACL or with MarshallingError, or accept it; that depends on the scheme.
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

/** What a server stores about a node besides its data. 68 bytes on the wire. */
export interface Stat {
  /**
   * The zxid of the creation. It is unique for each transaction and grows for the life of the ensemble, so it serves as
   * the fencing token. A sequence number starts again when its parent is deleted.
   */
  readonly czxid: bigint;
  /** The zxid of the last setData, or of the creation if there was none. */
  readonly mzxid: bigint;
  /** The time of the creation, in milliseconds since 1970 by the server's clock. */
  readonly ctime: bigint;
  /** The time of the last setData, in milliseconds since 1970 by the server's clock. */
  readonly mtime: bigint;
  /** The number of setData calls; 0 after the creation. */
  readonly version: number;
  /**
   * The number of creations and deletions of children, which wraps at 32 bits. It is not the counter that names
   * sequential nodes.
   */
  readonly cversion: number;
  /** The number of setACL calls. */
  readonly aversion: number;
  /** The session of an ephemeral node, otherwise 0n. Containers and TTL nodes show 0n too: a client cannot distinguish them. */
  readonly ephemeralOwner: bigint;
  /** The number of bytes of data; 0 for null as well as for empty. */
  readonly dataLength: number;
  readonly numChildren: number;
  /** The zxid of the last creation or deletion of a child, or of the node's own creation if there was none. */
  readonly pzxid: bigint;
}

/** The bytes of a `Stat` on the wire. */
export const statBytes = 68;

export function writeStat(writer: Writer, stat: Stat): void {
  writer.long(stat.czxid);
  writer.long(stat.mzxid);
  writer.long(stat.ctime);
  writer.long(stat.mtime);
  writer.int(stat.version);
  writer.int(stat.cversion);
  writer.int(stat.aversion);
  writer.long(stat.ephemeralOwner);
  writer.int(stat.dataLength);
  writer.int(stat.numChildren);
  writer.long(stat.pzxid);
}

export function readStat(reader: Reader): Stat {
  return {
    czxid: reader.long("stat.czxid"),
    mzxid: reader.long("stat.mzxid"),
    ctime: reader.long("stat.ctime"),
    mtime: reader.long("stat.mtime"),
    version: reader.int("stat.version"),
    cversion: reader.int("stat.cversion"),
    aversion: reader.int("stat.aversion"),
    ephemeralOwner: reader.long("stat.ephemeralOwner"),
    dataLength: reader.int("stat.dataLength"),
    numChildren: reader.int("stat.numChildren"),
    pzxid: reader.long("stat.pzxid"),
  };
}
