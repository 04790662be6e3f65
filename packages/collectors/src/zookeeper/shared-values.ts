import type { TreeNode } from "@holdfast/zk-recipes/internal";

/**
 * The most values of each kind that are shared. One cluster has hundreds of clients; values beyond this limit are kept
 * twice.
 */
const mostKept = 10_000;

/**
 * Makes nodes that were read share their equal values, so that these are kept only once. All nodes of a client have the same
 * data, and a node that was never written has equal zxids and times.
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
