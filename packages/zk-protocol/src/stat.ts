import type { Reader } from "./reader.js";
import type { Writer } from "./writer.js";

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
