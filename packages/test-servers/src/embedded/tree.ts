import { type Acl, openAcl, type Stat } from "@holdfast/zk-protocol";

export type NodeKind = "persistent" | "ephemeral" | "container" | "ttl";

const noNames: ReadonlySet<string> = new Set();
const readOnlyAcl: readonly Acl[] = [{ perms: 1, scheme: "world", id: "anyone" }];
/** The highest value of the counter of created children. */
export const maxCounter = 2_147_483_647;

/** One node. Only `Tree` changes it. */
export class TreeNode {
  readonly path: string;
  readonly kind: NodeKind;
  data: Uint8Array | null;
  acl: readonly Acl[];
  readonly czxid: bigint;
  mzxid: bigint;
  pzxid: bigint;
  readonly ctimeMs: number;
  mtimeMs: number;
  version = 0;
  aversion = 0;
  /**
   * How many children were created so far; sequential children get this number. `cversion` on the wire is another
   * number.
   */
  created = 0;
  /** The session of an ephemeral node, otherwise 0n. */
  readonly owner: bigint;
  readonly ttlMs: number;
  /** Made with the first child, because most nodes never have one. */
  names: Set<string> | undefined;

  constructor(init: NodeInit) {
    this.path = init.path;
    this.kind = init.kind;
    this.data = init.data;
    this.acl = init.acl;
    this.czxid = init.zxid;
    this.mzxid = init.zxid;
    this.pzxid = init.zxid;
    this.ctimeMs = init.timeMs;
    this.mtimeMs = init.timeMs;
    this.owner = init.owner;
    this.ttlMs = init.ttlMs;
  }

  get childCount(): number {
    return this.names === undefined ? 0 : this.names.size;
  }

  get children(): ReadonlySet<string> {
    return this.names ?? noNames;
  }

  stat(): Stat {
    const numChildren = this.childCount;
    return {
      czxid: this.czxid,
      mzxid: this.mzxid,
      ctime: BigInt(Math.floor(this.ctimeMs)),
      mtime: BigInt(Math.floor(this.mtimeMs)),
      version: this.version,
      // The sum of creations and deletions, in 32 bits, computed from the only two numbers that are kept.
      cversion: (2 * this.created - numChildren) | 0,
      aversion: this.aversion,
      // The stat of a container or a TTL node does not show its kind.
      ephemeralOwner: this.owner,
      dataLength: this.data === null ? 0 : this.data.length,
      numChildren,
      pzxid: this.pzxid,
    };
  }
}

export interface NodeInit {
  readonly path: string;
  readonly kind: NodeKind;
  readonly data: Uint8Array | null;
  readonly acl: readonly Acl[];
  readonly zxid: bigint;
  readonly timeMs: number;
  readonly owner: bigint;
  readonly ttlMs: number;
}

/**
 * The nodes, without any checks: the caller has made sure that a change is legal. While `journal` is set, each change
 * that a multi can make adds a function that takes it back.
 */
export class Tree {
  readonly root: TreeNode;
  readonly #nodes = new Map<string, TreeNode>();
  readonly #ephemerals = new Map<bigint, Set<string>>();
  /** Nodes that the cleaner may remove. */
  readonly #mortal = new Set<TreeNode>();
  readonly #wraps: boolean;
  /**
   * Counters of parents that have passed the limit, as requests of one batch see them. These requests go on counting;
   * when they are done, the counter is back at the limit.
   */
  readonly #inFlight = new Map<TreeNode, number>();
  journal: (() => void)[] | undefined;

  constructor(options: { readonly counterAtLimit: "sticks" | "wraps" }) {
    this.#wraps = options.counterAtLimit === "wraps";
    const bare = {
      kind: "persistent",
      data: Buffer.alloc(0),
      zxid: 0n,
      timeMs: 0,
      owner: 0n,
      ttlMs: 0,
    } as const;
    this.root = new TreeNode({ ...bare, path: "/", acl: openAcl });
    this.#nodes.set("/", this.root);
    // Old clients and some requests name the root by an empty path.
    this.#nodes.set("", this.root);
    // These come with the server. They are children but were never created, so that a new root has cversion -1.
    this.#attach(this.root, "zookeeper", new TreeNode({ ...bare, path: "/zookeeper", acl: openAcl }));
    const system = this.#nodes.get("/zookeeper") as TreeNode;
    this.#attach(system, "quota", new TreeNode({ ...bare, path: "/zookeeper/quota", acl: openAcl }));
    this.#attach(system, "config", new TreeNode({ ...bare, path: "/zookeeper/config", acl: readOnlyAcl }));
  }

  /** The number of nodes as `srvr` counts them: the root has two names and counts twice. */
  get nodeCount(): number {
    return this.#nodes.size;
  }

  get ephemeralCount(): number {
    let count = 0;
    for (const paths of this.#ephemerals.values()) count += paths.size;
    return count;
  }

  get mortal(): ReadonlySet<TreeNode> {
    return this.#mortal;
  }

  get(path: string): TreeNode | undefined {
    return this.#nodes.get(path);
  }

  nodes(): Iterable<TreeNode> {
    return this.#nodes.values();
  }

  ephemeralsOf(session: bigint): ReadonlySet<string> {
    return this.#ephemerals.get(session) ?? noNames;
  }

  ephemeralSessions(): Iterable<[bigint, ReadonlySet<string>]> {
    return this.#ephemerals.entries();
  }

  /** The number that the next sequential child gets. */
  counterOf(parent: TreeNode): number {
    return this.#inFlight.get(parent) ?? parent.created;
  }

  /** Call this when no request of the batch with the last create is under way any more. */
  settle(): void {
    if (this.#inFlight.size > 0) this.#inFlight.clear();
  }

  setCounter(node: TreeNode, created: number): void {
    node.created = created;
    this.#inFlight.delete(node);
  }

  create(parent: TreeNode, init: NodeInit): TreeNode {
    const { created, pzxid } = parent;
    const counter = this.counterOf(parent);
    const next = (counter + 1) | 0;
    const node = new TreeNode(init);
    const name = init.path.slice(init.path.lastIndexOf("/") + 1);
    this.#attach(parent, name, node);
    if (this.#wraps || next > created) {
      parent.created = next;
      parent.pzxid = init.zxid;
    } else {
      // At the limit a server does not let the number fall. The pzxid is set together with it, so it stays unchanged
      // too.
      this.#inFlight.set(parent, next);
    }
    this.journal?.push(() => {
      this.#detach(parent, name, node);
      parent.created = created;
      parent.pzxid = pzxid;
      if (counter === created) this.#inFlight.delete(parent);
      else this.#inFlight.set(parent, counter);
    });
    return node;
  }

  delete(parent: TreeNode, node: TreeNode, zxid: bigint): void {
    const { pzxid } = parent;
    const name = node.path.slice(node.path.lastIndexOf("/") + 1);
    this.#detach(parent, name, node);
    parent.pzxid = zxid;
    this.journal?.push(() => {
      this.#attach(parent, name, node);
      parent.pzxid = pzxid;
    });
  }

  setData(node: TreeNode, data: Uint8Array | null, zxid: bigint, timeMs: number): void {
    const { data: oldData, mzxid, mtimeMs, version } = node;
    node.data = data;
    node.mzxid = zxid;
    node.mtimeMs = timeMs;
    node.version = (version + 1) | 0;
    this.journal?.push(() => {
      node.data = oldData;
      node.mzxid = mzxid;
      node.mtimeMs = mtimeMs;
      node.version = version;
    });
  }

  setAcl(node: TreeNode, acl: readonly Acl[]): void {
    node.acl = acl;
    node.aversion = (node.aversion + 1) | 0;
  }

  /** A copy that later changes do not reach, for a client that reads old state. */
  snapshot(): Tree {
    const copy = new Tree({ counterAtLimit: this.#wraps ? "wraps" : "sticks" });
    copy.#nodes.clear();
    for (const [path, node] of this.#nodes) {
      const twin = Object.assign(Object.create(TreeNode.prototype), node) as TreeNode;
      if (node.names !== undefined) twin.names = new Set(node.names);
      copy.#nodes.set(path, twin);
    }
    for (const [session, paths] of this.#ephemerals) copy.#ephemerals.set(session, new Set(paths));
    return copy;
  }

  #attach(parent: TreeNode, name: string, node: TreeNode): void {
    parent.names ??= new Set();
    parent.names.add(name);
    this.#nodes.set(node.path, node);
    if (node.kind === "ephemeral") {
      const own = this.#ephemerals.get(node.owner);
      if (own === undefined) this.#ephemerals.set(node.owner, new Set([node.path]));
      else own.add(node.path);
    } else if (node.kind !== "persistent") {
      this.#mortal.add(node);
    }
  }

  #detach(parent: TreeNode, name: string, node: TreeNode): void {
    parent.names?.delete(name);
    this.#nodes.delete(node.path);
    this.#inFlight.delete(node);
    if (node.kind === "ephemeral") {
      const own = this.#ephemerals.get(node.owner);
      own?.delete(node.path);
      if (own?.size === 0) this.#ephemerals.delete(node.owner);
    } else if (node.kind !== "persistent") {
      this.#mortal.delete(node);
    }
  }
}
