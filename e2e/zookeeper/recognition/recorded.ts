import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { joinPath, type ResponseOf } from "@holdfast/zk-protocol";
import {
  type BareTree,
  type RecognisedTree,
  recogniseTree,
  type TreeBranch,
  type TreeNode,
  type ZooKeeperSession,
} from "@holdfast/zk-recipes/internal";
import { expect } from "vitest";
import { said } from "../../../packages/zk-recipes/test/layout/trees.js";

/** When this variable is set, the fixtures of the golden tests are written anew from the trees that the peers make. */
const record = process.env.HOLDFAST_RECORD_TREES !== undefined;
const folder = new URL("../../../packages/zk-recipes/test/layout/trees/", import.meta.url);

/** Reads a path's data, stat and children; of a semaphore also the children of `locks` and `leases`. */
export async function readTree(session: ZooKeeperSession, path: string): Promise<BareTree> {
  const { data, stat } = await session.request("getData", { path, watch: false });
  const children = await readChildren(session, path);
  const below: Partial<Record<"locks" | "leases", TreeBranch>> = {};
  for (const name of ["locks", "leases"] as const) {
    const child = children.find((each) => each.name === name);
    if (child !== undefined) {
      below[name] = { stat: child.stat, children: await readChildren(session, joinPath(path, name)) };
    }
  }
  return { path, stat, data, children, ...below };
}

async function readChildren(session: ZooKeeperSession, path: string): Promise<TreeNode[]> {
  const { children } = await session.request("getChildren2", { path, watch: false });
  const reads = children.map(async (name): Promise<TreeNode> => {
    const read: ResponseOf<"getData"> = await session.request("getData", {
      path: joinPath(path, name),
      watch: false,
    });
    return { name, ...read };
  });
  return (await Promise.all(reads)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Compares what we recognise in a tree that a peer has just made with the recorded result. */
export class Records {
  readonly #file: string;
  readonly #trees: Record<string, { tree: unknown; says: unknown }>;

  constructor(name: string) {
    this.#file = fileURLToPath(new URL(`${name}.json`, folder));
    this.#trees = record ? {} : JSON.parse(readFileSync(this.#file, "utf8"));
  }

  async check(name: string, session: ZooKeeperSession, path: string): Promise<RecognisedTree> {
    const tree = await readTree(session, path);
    const recognised = recogniseTree(tree);
    const says = said(recognised);
    if (record) this.#trees[name] = { tree, says };
    expect(says, name).toEqual(this.#trees[name]?.says);
    return recognised;
  }

  save(): void {
    if (record) writeFileSync(this.#file, `${JSON.stringify(this.#trees, plain, 1)}\n`);
  }
}

/** Writes bigints as text and bytes as hex, and replaces this host's IP address by 192.0.2.1, which is for documentation. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Uint8Array)) return value;
  const text = Buffer.from(value).toString("latin1");
  return Buffer.from(text.replace(/^\d+(\.\d+){3}$/, "192.0.2.1"), "latin1").toString("hex");
}
