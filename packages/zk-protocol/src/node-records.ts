import type { Reader, Writer } from "./jute.js";

/** Bits of `Acl.perms`. Servers check CREATE and DELETE on the parent, the others on the node itself. */
export const Perms = {
  READ: 1,
  WRITE: 2,
  CREATE: 4,
  DELETE: 8,
  ADMIN: 16,
  ALL: 31,
} as const;

/** One entry of an access control list: which client may do what. */
export interface Acl {
  /** Bits of `Perms`. */
  readonly perms: number;
  /** `world`, `digest`, `ip`, `auth`, `x509`, `sasl`. */
  readonly scheme: string;
  /** The client, in the words of the scheme: `anyone` for `world`, `user:hash` for `digest`. */
  readonly id: string;
}

/** An entry as a client may send it: some write the empty id of the scheme `auth` as null. */
export interface RequestedAcl {
  readonly perms: number;
  readonly scheme: string | null;
  readonly id: string | null;
}

/** Every client may do everything: the default of Curator and of ZooKeeper's own client. */
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

/** The entries that a server sends: no part of one is null. */
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

/** What a server knows of a node besides its data. 68 bytes on the wire. */
export interface Stat {
  /**
   * zxid of the creation. Unique per transaction and growing for the life of the ensemble, unlike a
   * sequence number, which starts again when its parent is deleted: the fencing token.
   */
  readonly czxid: bigint;
  /** zxid of the last setData; of the creation if there was none. */
  readonly mzxid: bigint;
  /** Creation, in milliseconds since 1970 by the server's clock. */
  readonly ctime: bigint;
  /** Last setData, in milliseconds since 1970 by the server's clock. */
  readonly mtime: bigint;
  /** Counts setData; 0 after creation. */
  readonly version: number;
  /** Creations plus deletions of children, wrapping at 32 bits. Not the counter that names sequential nodes. */
  readonly cversion: number;
  /** Counts setACL. */
  readonly aversion: number;
  /** Session of an ephemeral node, otherwise 0n. Containers and TTL nodes show 0n too: a client cannot tell them apart. */
  readonly ephemeralOwner: bigint;
  /** Bytes of data; 0 for null as well as for empty. */
  readonly dataLength: number;
  readonly numChildren: number;
  /** zxid of the last creation or deletion of a child; of the own creation if there was none. */
  readonly pzxid: bigint;
}

/** What a `Stat` takes on the wire. */
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
