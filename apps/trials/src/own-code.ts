import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Subject } from "./subjects.js";

const packages = fileURLToPath(new URL("../../../packages/", import.meta.url));

/** Read once: nothing is built while trials run. */
const digests = new Map<string, string>();

/** What distinguishes runs of a lock of this repository, whose version stays while its code changes; empty for the libraries of others. */
export const codeOf = ({ ownPackage }: Subject): { readonly code?: string } =>
  ownPackage === undefined ? {} : { code: digestOfCode(ownPackage) };

/** Of what is built of a package, and of those of this repository that it depends on. */
function digestOfCode(name: string): string {
  const known = digests.get(name);
  if (known !== undefined) return known;
  const folder = join(packages, name);
  const about = readFileSync(join(folder, "package.json"), "utf8");
  const { dependencies = {} } = JSON.parse(about) as { dependencies?: Readonly<Record<string, string>> };
  const hash = createHash("sha256").update(JSON.stringify(dependencies));
  for (const each of Object.keys(dependencies)) {
    const [, own] = /^@holdfast\/(.+)$/.exec(each) ?? [];
    if (own !== undefined) hash.update(digestOfCode(own));
  }
  const dist = join(folder, "dist");
  for (const file of builtFiles(dist)) hash.update(file).update(readFileSync(join(dist, file)));
  const digest = hash.digest("hex").slice(0, 8);
  digests.set(name, digest);
  return digest;
}

/** Text and page can be written where nothing is built. */
function builtFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".js")).sort();
}
