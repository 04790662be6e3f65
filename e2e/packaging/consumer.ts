import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Manifest, packAll } from "../../scripts/pack.mjs";
import { run } from "../support/process/run.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const withinMs = 120_000;

/** A user's project outside this repository, with our packages installed as from a registry. */
export interface Consumer extends AsyncDisposable {
  readonly folder: string;
  /** The tarballs by package name. */
  readonly tarballs: ReadonlyMap<string, string>;
  /** The manifest of the packed package. */
  manifest(name: string): Promise<Manifest>;
  write(file: string, text: string): Promise<string>;
  /** Type-checks files, and also the declarations of the packages; rejects with the compiler's output. */
  typeCheck(...files: string[]): Promise<void>;
}

/** Builds, packs and installs. Dependencies that are not ours come from the registry or npm's cache. */
export async function makeConsumer(): Promise<Consumer> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-consumer-"));
  let tarballs: ReadonlyMap<string, string>;
  try {
    await mkdir(join(folder, "tarballs"));
    tarballs = await packAll(join(folder, "tarballs"));
    const typesOfNode = JSON.parse(await readFile(join(root, "package.json"), "utf8")).devDependencies[
      "@types/node"
    ];
    const manifest = {
      name: "consumer",
      private: true,
      dependencies: { ...Object.fromEntries(tarballs), "@types/node": typesOfNode },
    };
    await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
    const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
    await run("npm", install, { cwd: folder, withinMs });
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return {
    folder,
    tarballs,
    async manifest(name) {
      return JSON.parse(await readFile(join(folder, "node_modules", name, "package.json"), "utf8"));
    },
    async write(file, text) {
      await writeFile(join(folder, file), text);
      return join(folder, file);
    },
    async typeCheck(...files) {
      const tsc = join(root, "node_modules/.bin/tsc");
      const strict = [
        "--strict",
        "--exactOptionalPropertyTypes",
        "--noUncheckedIndexedAccess",
        "--skipLibCheck",
        "false",
      ];
      const target = [
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--lib",
        "es2023,esnext.disposable",
        "--types",
        "node",
      ];
      await run(tsc, ["--ignoreConfig", "--noEmit", ...strict, ...target, ...files], {
        cwd: folder,
        withinMs,
      });
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
