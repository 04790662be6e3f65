import { Reader } from "./jute.js";
import { readStat, type Stat, statBytes } from "./node-records.js";
import type { Children2Response } from "./records.js";

/**
 * The answer to `getChildren2` as it came. The names and the `Stat` are decoded when they are first read. A client that
 * needs only a few of some hundred names finds them in the bytes, and makes no text of the others.
 *
 * It keeps the whole frame in memory as long as it is referred to.
 */
export class ListedChildren implements Children2Response {
  readonly bytes: Buffer;
  /** The number of names. */
  readonly count: number;
  /** The offset in `bytes` at which the names begin. In front of each name is its length, in four bytes, big-endian. */
  readonly namesAt: number;
  readonly #at: number;
  readonly #statAt: number;
  #children: string[] | null = null;
  #stat: Stat | null = null;

  /**
   * `offset`: where the body of the reply begins. Throws `ProtocolError` when `decodeResponse` would: the parts that are
   * read later are complete.
   */
  constructor(bytes: Buffer, offset: number) {
    const reader = new Reader(bytes, offset);
    this.bytes = bytes;
    this.#at = offset;
    this.count = reader.count("children");
    this.namesAt = reader.offset;
    for (let i = 0; i < this.count; i++) reader.skipString("children");
    this.#statAt = reader.offset;
    reader.skip(statBytes, "stat");
  }

  /** The names; the same array each time. */
  get children(): string[] {
    this.#children ??= new Reader(this.bytes, this.#at).strings("children");
    return this.#children;
  }

  get stat(): Stat {
    this.#stat ??= readStat(new Reader(this.bytes, this.#statAt));
    return this.#stat;
  }
}
