import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { WorkerProgram } from "../engine/worker-process.js";
import type { Mutant } from "./mutant.js";

const scope = "@holdfast";
const copied = ["core", "zk-protocol", "zk-recipes", "redis-recipes", "multi-lock", "test-servers"];

type Patch = Pick<Mutant, "id" | "package" | "file" | "find" | "replace">;

/**
 * Our packages once more in a folder of their own, as they were built, one of them patched. Everything else is linked to
 * where it is. Throws when the text to be patched is not there exactly once: then the mutant has to be written anew.
 */
export class PatchedPackages implements Disposable {
  readonly #root: string;

  constructor(patch: Patch) {
    this.#root = mkdtempSync(join(tmpdir(), `holdfast-mutant-${patch.id}-`));
    try {
      const modules = join(this.#root, "node_modules");
      mkdirSync(join(modules, scope), { recursive: true });
      const here = ownFolder();
      const folders = new Map([
        ["chaos", here],
        ...copied.map((name) => [name, folderOf(name, here)] as const),
      ]);
      for (const [name, folder] of folders) {
        const target = join(modules, scope, name);
        cpSync(join(folder, "dist"), join(target, "dist"), { recursive: true });
        cpSync(join(folder, "package.json"), join(target, "package.json"));
        linkDependencies(folder, modules);
      }
      const dist = join(modules, scope, patch.package, "dist");
      writeFileSync(join(dist, `${patch.file}.js`), applied(patch, dist));
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  get worker(): WorkerProgram {
    const entry = join(this.#root, "node_modules", scope, "chaos", "dist", "workload", "worker-main.js");
    return { command: process.execPath, args: ["--enable-source-maps", entry] };
  }

  [Symbol.dispose](): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** The built file as it is to be. */
export function patchedText(patch: Patch): string {
  return applied(patch, join(folderOf(patch.package, ownFolder()), "dist"));
}

function applied({ id, package: name, file, find, replace }: Patch, dist: string): string {
  const parts = readFileSync(join(dist, `${file}.js`), "utf8").split(find);
  if (parts.length !== 2) {
    throw new Error(
      `mutant ${id}: ${JSON.stringify(find)} is ${parts.length - 1} times in ${name}/dist/${file}.js, and should be once`,
    );
  }
  return parts.join(replace);
}

/** Dependencies that are none of ours: shared, since nobody changes them. */
function linkDependencies(folder: string, modules: string): void {
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) {
    const link = join(modules, name);
    if (name.startsWith(`${scope}/`) || existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(moduleFolder(name, folder), link, "dir");
  }
}

const folderOf = (name: string, from: string): string => moduleFolder(`${scope}/${name}`, from);

/** Where a package lies, seen from another. Asking for its main file would not do: not every package has one to require. */
function moduleFolder(name: string, from: string): string {
  const places = createRequire(join(from, "package.json")).resolve.paths(name) ?? [];
  const found = places
    .map((place) => join(place, name))
    .find((place) => existsSync(join(place, "package.json")));
  if (found === undefined) throw new Error(`${name} is not installed beside ${from}`);
  return found;
}

/** Of the package that this file is in, run from `src` or from `dist`. */
function ownFolder(): string {
  return dirname(dirname(dirname(fileURLToPath(import.meta.url))));
}
