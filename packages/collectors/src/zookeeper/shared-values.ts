import type { TreeNode } from "@holdfast/zk-recipes/internal";

/** How many values of each kind are kept. The clients of one cluster are hundreds; what is beyond is kept twice. */
const mostKept = 10_000;

/**
 * Nodes that were read, without what they have in common kept again for each: the data of a client's nodes is the same in all of them, and
 * a node that was never written has equal zxids and times.
 */
export class SharedValues {
  readonly #data = new Map<string, Uint8Array>();
  readonly #owners = new Map<bigint, bigint>();

  node({ name, stat, data }: TreeNode): TreeNode {
    if (stat === null) return { name, stat, data: this.#dataOf(data) };
    const { czxid, ctime } = stat;
    const like = (value: bigint, other: bigint): bigint => (value === other ? other : value);
    return {
      name,
      stat: {
        ...stat,
        mzxid: like(stat.mzxid, czxid),
        pzxid: like(stat.pzxid, czxid),
        mtime: like(stat.mtime, ctime),
        ephemeralOwner: kept(this.#owners, stat.ephemeralOwner, stat.ephemeralOwner),
      },
      data: this.#dataOf(data),
    };
  }

  #dataOf(data: Uint8Array | null): Uint8Array | null {
    if (data === null) return null;
    return kept(this.#data, Buffer.from(data.buffer, data.byteOffset, data.length).toString("latin1"), data);
  }
}

function kept<K, V>(values: Map<K, V>, key: K, value: V): V {
  const known = values.get(key);
  if (known !== undefined) return known;
  if (values.size >= mostKept) values.clear();
  values.set(key, value);
  return value;
}
