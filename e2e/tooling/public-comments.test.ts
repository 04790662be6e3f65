import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { published } from "../../scripts/pack.mjs";
import { type PublicMember, publicMembers } from "./support/public-members.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Not checked: `zk-protocol` names the fields of ZooKeeper's own records, which ZooKeeper documents. */
const exempt = "@holdfast/zk-protocol";

/** The calls that users of locks meet first. */
const verbs = [
  ...["Acquirable.acquire", "Acquirable.tryAcquire", "Acquirable.withLock"],
  ...["Semaphore.acquire", "Semaphore.tryAcquire", "Semaphore.withPermit", "WriteHandle.downgrade"],
  ...["LeaderElection.campaign", "LeaderElection.lead", "LockView.inspect", "LockView.requestRevoke"],
  ...["LockHandle.release", "LockHandle.confirm", "LockHandle.assertHeld", "LockProvider.close"],
  ...["zookeeperLocks", "redisLocks", "redLocks", "memoryLocks", "multiLock", "TokenGate.admit"],
];

const bare = (members: readonly PublicMember[]): string[] =>
  members
    .filter(({ documented }) => !documented)
    .map(({ file, line, name }) => `${file}:${line} ${name} has no comment`);

/** Writes `sources` as a package, of which users import `index.ts`; returns its public members without a comment. */
async function bareIn(sources: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "holdfast-comments-"));
  try {
    const settings = { compilerOptions: { module: "NodeNext", target: "ES2022" } };
    await writeFile(join(folder, "tsconfig.base.json"), JSON.stringify(settings));
    for (const [file, text] of Object.entries(sources)) await writeFile(join(folder, file), text);
    return bare(publicMembers(folder, ["index.ts"]));
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("comments of what users can name", () => {
  it("every exported member of a published package has a comment, and each verb an example", async () => {
    const packages = (await published()).filter(({ name }) => name !== exempt);
    const entries = packages.flatMap(({ folder, manifest }) =>
      Object.entries(manifest.exports)
        .filter(([entry]) => entry !== "./internal")
        .map(([, conditions]) => join(folder, conditions["@holdfast/source"] ?? "")),
    );
    const members = publicMembers(root, entries);
    expect(members.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "LockHandle.release",
        "ZooKeeperLocks.atomicLong",
        "LockEventMap.renewed.tookMs",
      ]),
    );
    expect(bare(members)).toEqual([]);
    const shown = new Set(members.filter(({ hasExample }) => hasExample).map(({ name }) => name));
    expect(verbs.filter((verb) => !shown.has(verb))).toEqual([]);
  });

  it("a member without a comment is found where it is declared, behind any number of exports", async () => {
    const found = await bareIn({
      "index.ts": 'export * from "./middle.js";',
      "middle.ts": 'export { type Lock as Renamed, acquire, limits } from "./lock.js";',
      "lock.ts": [
        "interface Hidden {",
        "  inherited: number;",
        "}",
        "/** A lock. */",
        "export interface Lock extends Hidden {",
        "  /** Its name. */",
        "  name: string;",
        "  options: { bare: boolean } | { readonly kind: 'none' };",
        "}",
        "export function acquire(): void {}",
        "/** What is allowed. */",
        "export const limits = { most: Number('3') };",
        "export interface NotExported {",
        "  bare: string;",
        "}",
      ].join("\n"),
    });
    expect(found.sort()).toEqual([
      "lock.ts:10 acquire has no comment",
      "lock.ts:12 limits.most has no comment",
      "lock.ts:2 Lock.inherited has no comment",
      "lock.ts:8 Lock.options has no comment",
      "lock.ts:8 Lock.options.bare has no comment",
    ]);
  });

  it("each overload and each public method of a class needs a comment of its own", async () => {
    const found = await bareIn({
      "index.ts": [
        "/** Opens. */",
        "export interface Door {",
        "  /** Opens it. */",
        "  open(): void;",
        "}",
        "/** A door of wood. */",
        "export class Wooden implements Door {",
        "  #hinges = 2;",
        "  private readonly nails = 3;",
        "  open(): void {}",
        "  close(): number { return this.#hinges + this.nails; }",
        "  static make(): Wooden { return new Wooden(); }",
        "}",
        "/** Knocks once. */",
        "export function knock(): void;",
        "export function knock(times: number): void;",
        "export function knock(_times?: number): void {}",
      ].join("\n"),
    });
    expect(found).toEqual([
      "index.ts:10 Wooden.open has no comment",
      "index.ts:11 Wooden.close has no comment",
      "index.ts:12 Wooden.make has no comment",
      "index.ts:16 knock has no comment",
    ]);
  });
});
