import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { recogniseTree } from "../../src/layout/recognise-tree.js";
import type { BareTree } from "../../src/layout/tree.js";
import { said } from "./trees.js";

/** Files that `e2e/zookeeper/recognition` makes from the nodes of Curator and kazoo on a real server. */
const folder = new URL("trees/", import.meta.url);

interface RecordedTree {
  readonly tree: BareTree;
  readonly says: unknown;
}

/** Restores the values that were changed for JSON. */
function revive(key: string, value: unknown): unknown {
  if (key === "data") return value === null ? null : Buffer.from(value as string, "hex");
  return ["czxid", "mzxid", "pzxid", "ctime", "mtime", "ephemeralOwner"].includes(key)
    ? BigInt(value as string)
    : value;
}

const files = readdirSync(folder).filter((file) => file.endsWith(".json"));

it("are there of kazoo and of two versions of Curator", () => {
  expect(files.sort()).toEqual(["curator-5.4.0.json", "curator-newest.json", "kazoo.json"]);
});

describe.each(files)("the trees of %s", (file) => {
  const recorded = Object.entries(
    JSON.parse(readFileSync(new URL(file, folder), "utf8"), revive) as Record<string, RecordedTree>,
  );

  it.each(recorded)("are recognised: %s", (_name, { tree, says }) => {
    expect(said(recogniseTree(tree))).toEqual(says);
  });

  it.each(recorded)("say the same in whatever order the server lists them: %s", (_name, { tree, says }) => {
    const turned = { ...tree, children: [...tree.children].reverse() };
    expect(said(recogniseTree(turned))).toEqual(says);
  });
});
