import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { SweptFolder } from "../engine/machine/swept-folder.js";
import type { WorkerProgram } from "../engine/worker-process.js";
import type { Mutant } from "./mutant.js";

const scope = "@holdfast";
const copied = ["core", "zk-protocol", "zk-recipes", "redis-recipes", "multi-lock", "test-servers"];

type Patch = Pick<Mutant, "id" | "package" | "file" | "find" | "replace">;

/**
 * Copies of our built packages in a folder of their own, with one of them patched. Everything else is linked to its
 * place. Throws if the text to patch is not there exactly once: then the mutant has to be written anew.
 */
export class PatchedPackages implements AsyncDisposable {
  readonly #folder: SweptFolder;

  constructor(patch: Patch) {
    this.#folder = new SweptFolder(`mutant-${patch.id}`);
    try {
      const modules = join(this.#folder.path, "node_modules");
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
      const { path, text } = applied(patch, join(modules, scope, patch.package, "dist"));
      writeFileSync(path, text);
    } catch (error) {
      void this.#folder.remove();
      throw error;
    }
  }

  get worker(): WorkerProgram {
    const entry = join(
      this.#folder.path,
      "node_modules",
      scope,
      "chaos",
      "dist",
      "workload",
      "worker-main.js",
    );
    return { command: process.execPath, args: ["--enable-source-maps", entry] };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#folder.remove();
  }
}

/** The text of the built file with the patch. */
export function patchedText(patch: Patch): string {
  return applied(patch, join(folderOf(patch.package, ownFolder()), "dist")).text;
}

function applied({ id, file, find, replace }: Patch, dist: string): BuiltFile {
  const { path, text, from, to } = builtModule(dist, file);
  // A bundler may break lines anywhere.
  const words = find.split(/\s+/).map((word) => word.replace(/[^\w\s]/g, "\\$&"));
  const parts = text.slice(from, to).split(new RegExp(words.join("\\s+")));
  if (parts.length !== 2) {
    throw new Error(
      `mutant ${id}: ${JSON.stringify(find)} is ${parts.length - 1} times in ${file} of ${path}, and should be once`,
    );
  }
  return { path, text: text.slice(0, from) + parts.join(replace) + text.slice(to) };
}

interface BuiltFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Finds a module. In a checkout it is a file of its own. In an installed package it is a part of a bundle: from a
 * comment with its name up to the comment of the next module.
 */
function builtModule(dist: string, file: string): BuiltFile & { readonly from: number; readonly to: number } {
  const own = join(dist, `${file}.js`);
  if (existsSync(own)) {
    const text = readFileSync(own, "utf8");
    return { path: own, text, from: 0, to: text.length };
  }
  const bundles = readdirSync(dist).filter((name) => name.endsWith(".js"));
  for (const path of bundles.map((name) => join(dist, name))) {
    const text = readFileSync(path, "utf8");
    const from = text.indexOf(`\n// dist/${file}.js\n`);
    if (from < 0) continue;
    const length = text.slice(from + 1).search(/\n\/\/ dist\/\S+\.js\n/);
    return { path, text, from, to: length < 0 ? text.length : from + 1 + length };
  }
  throw new Error(`${file} is no module of ${dist}`);
}

/** Links the dependencies that are not ours. They are shared, since no mutant changes them. */
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

/**
 * The folder of a package, seen from another package. It is not resolved by its main file, because not every package
 * has one that can be required.
 */
function moduleFolder(name: string, from: string): string {
  const places = createRequire(join(from, "package.json")).resolve.paths(name) ?? [];
  const found = places
    .map((place) => join(place, name))
    .find((place) => existsSync(join(place, "package.json")));
  if (found === undefined) throw new Error(`${name} is not installed beside ${from}`);
  return found;
}

/** The folder of the package that contains this file, run from `src` or from `dist`. */
function ownFolder(): string {
  return dirname(dirname(dirname(fileURLToPath(import.meta.url))));
}
