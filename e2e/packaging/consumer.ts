import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../support/run.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const withinMs = 120_000;

/** Apps that are installed by users; the others are examples and benchmarks. */
const apps: readonly string[] = ["dashboard", "chaos"];

/** What is published. */
export const published = [
  "core",
  "zk-protocol",
  "zk-recipes",
  "redis-recipes",
  "multi-lock",
  "metrics",
  "test-servers",
  "dashboard",
  "chaos",
] as const;

const folderOf = (name: string): string => join(apps.includes(name) ? "apps" : "packages", name);

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** A project of somebody else's, outside this repository, with our packages installed as from a registry. */
export interface Consumer extends AsyncDisposable {
  readonly folder: string;
  /** The manifest that was packed. */
  manifest(name: (typeof published)[number]): Promise<Manifest>;
  write(file: string, text: string): Promise<string>;
  /** Type-checks files without skipping the declarations of the packages; rejects with what the compiler says. */
  typeCheck(...files: string[]): Promise<void>;
}

/** Builds, packs and installs. Third-party dependencies come from the registry, or npm's cache of it. */
export async function makeConsumer(): Promise<Consumer> {
  const turbo = join(root, "node_modules/.bin/turbo");
  const filters = published.map((name) => `--filter=@holdfast/${name}`);
  await run(turbo, ["run", "build", ...filters, "--output-logs=errors-only"], { cwd: root, withinMs });
  const folder = await mkdtemp(join(tmpdir(), "holdfast-consumer-"));
  try {
    const tarballs = join(folder, "tarballs");
    await mkdir(tarballs);
    const workspaces = published.flatMap((name) => ["--workspace", folderOf(name)]);
    await run("npm", ["pack", "--silent", "--pack-destination", tarballs, ...workspaces], {
      cwd: root,
      withinMs,
    });
    const typesOfNode = JSON.parse(await readFile(join(root, "package.json"), "utf8")).devDependencies[
      "@types/node"
    ];
    const files = await Promise.all(
      published.map(async (name) => [`@holdfast/${name}`, await tarballOf(name)]),
    );
    const manifest = {
      name: "consumer",
      private: true,
      dependencies: { ...Object.fromEntries(files), "@types/node": typesOfNode },
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
    async manifest(name) {
      return JSON.parse(await readFile(join(folder, "node_modules/@holdfast", name, "package.json"), "utf8"));
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

async function tarballOf(name: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(root, folderOf(name), "package.json"), "utf8"));
  return `file:tarballs/holdfast-${name}-${version}.tgz`;
}
