import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    pageDirectory: string;
  }
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Builds the page from its sources once for all test files, into its own folder. So the tests see the page of this tree. */
export default async function buildPage(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-page-"));
  const page = here("../../../apps/dashboard/page");
  const vite = join(dirname(createRequire(import.meta.url).resolve("vite/package.json")), "bin", "vite.js");
  // Vitest's own NODE_ENV would make it a build for development.
  const { NODE_ENV, ...env } = process.env;
  const built = spawn(
    process.execPath,
    [vite, "build", page, "--config", join(page, "vite.config.ts"), "--outDir", directory],
    { env, stdio: ["ignore", "ignore", "pipe"] },
  );
  let said = "";
  built.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const [code] = await once(built, "close");
  if (code !== 0) throw new Error(`the page cannot be built: ${said}`);
  project.provide("pageDirectory", directory);
  return () => rm(directory, { recursive: true });
}
