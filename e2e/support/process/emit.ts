import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { run } from "./run.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const tsc = join(root, "node_modules/.bin/tsc");
const compilerOptions = "--ignoreConfig --module nodenext --target es2022 --types node --skipLibCheck".split(
  " ",
);

/**
 * Brings built packages and the packages below them up to date, for processes that use them as an installed service would. This
 * is fast when they are up to date. Under `npm test`, which has built them all, it does nothing.
 */
export async function buildPackages(...packages: string[]): Promise<void> {
  if (process.env.HOLDFAST_BUILT === "1") return;
  const turbo = join(root, "node_modules/.bin/turbo");
  const wanted = packages.length === 0 ? ["@holdfast/zk-recipes"] : packages;
  const filters = wanted.map((name) => `--filter=${name}`);
  const build = ["run", "build", ...filters, "--output-logs=errors-only"];
  await run(turbo, build, { cwd: root, withinMs: 120_000 });
}

/** A folder inside the repository, so that `@holdfast/...` resolves from it to the built packages. */
export async function scratchInside(): Promise<{ dir: string } & AsyncDisposable> {
  const cache = join(root, ".cache/e2e");
  await mkdir(cache, { recursive: true });
  const dir = await mkdtemp(join(cache, "scratch-"));
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
}

/**
 * A file below `e2e`, such as `support/process/contender`, as JavaScript, with all that it imports there. Processes of their
 * own need that, since Node 20 runs no TypeScript.
 */
export async function emit(name: string): Promise<{ url: URL; file: string } & AsyncDisposable> {
  const scratch = await scratchInside();
  const e2e = join(root, "e2e");
  // Types are checked with the rest of the tests.
  await compile(join(e2e, `${name}.ts`), scratch.dir, ["--noCheck", "--rootDir", e2e]);
  const file = join(scratch.dir, `${name}.js`);
  return { file, url: pathToFileURL(file), [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose]() };
}

/** Compiles all sources in one run, since most of the compiler's time goes into the declarations that they share. */
export async function compile(
  source: string | readonly string[],
  outDir: string,
  options: readonly string[] = [],
): Promise<void> {
  await run(tsc, [...compilerOptions, ...options, "--outDir", outDir, ...[source].flat()], {
    cwd: root,
    withinMs: 60_000,
  });
}
