import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Subject } from "./subjects.js";

const repository = fileURLToPath(new URL("../../../", import.meta.url));

/**
 * The folders and files whose code runs and judges every subject: the runner's engine and checkers, the servers and
 * proxies, the clients of the subjects, and what makes charges of convictions.
 */
const common = [
  ...["checkers", "engine", "history", "subject", "workload"].map((name) => `apps/chaos/dist/${name}`),
  "apps/chaos/java",
  "apps/chaos/shims",
  "packages/test-servers/dist",
  "apps/trials/dist/cell.js",
  "apps/trials/dist/verdict.js",
  "apps/trials/dist/clients",
  "apps/trials/dist/servers",
  "apps/trials/python",
];

/** By folder. Each is read once, because nothing is built while trials run. */
const digests = new Map<string, string>();

/**
 * A digest of the code that a run depends on beside the subject's version: the runner and its clients, and the code of a lock of this
 * repository, whose version stays while its code changes. Runs with other code do not count.
 */
export function codeOf({ ownPackage }: Pick<Subject, "ownPackage">, root: string = repository): string {
  const runner = common.map((folder) => digestOfFolder(join(root, folder)));
  return digestOf(ownPackage === undefined ? runner : [...runner, digestOfPackage(root, ownPackage)]);
}

/** A digest of the built files of a package and of the packages of this repository that it depends on. */
function digestOfPackage(root: string, name: string): string {
  const folder = join(root, "packages", name);
  const about = readFileSync(join(folder, "package.json"), "utf8");
  const { dependencies = {} } = JSON.parse(about) as { dependencies?: Readonly<Record<string, string>> };
  const own = Object.keys(dependencies).flatMap((each) => /^@holdfast\/(.+)$/.exec(each)?.[1] ?? []);
  return digestOf([
    JSON.stringify(dependencies),
    ...own.map((each) => digestOfPackage(root, each)),
    digestOfFolder(join(folder, "dist")),
  ]);
}

function digestOfFolder(folder: string): string {
  const known = digests.get(folder);
  if (known !== undefined) return known;
  const digest = digestOf(
    codeFiles(folder).flatMap((file) => [file, readFileSync(join(folder, file), "utf8")]),
  );
  digests.set(folder, digest);
  return digest;
}

const digestOf = (parts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 8);

/** Text and page can be written where nothing is built. */
function codeFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  if (statSync(folder).isFile()) return [""];
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.(js|java|py|c)$/.test(name)).sort();
}
