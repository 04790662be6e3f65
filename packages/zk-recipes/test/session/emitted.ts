import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * Compiles this package and those it imports to JavaScript in a separate folder, for processes that tests start: Node 20 runs no
 * TypeScript, and a build left in `dist` may be an old one. `sources` is the emitted `src`. The caller must remove `folder`.
 */
export async function emitPackages(): Promise<{ folder: string; sources: string }> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-emitted-"));
  const modules = join(folder, "node_modules");
  const { resolve } = createRequire(import.meta.url);
  mkdirSync(modules);
  symlinkSync(dirname(resolve("node-zookeeper-client/package.json")), join(modules, "node-zookeeper-client"));
  const compiler = join(dirname(resolve("typescript/package.json")), "bin/tsc");
  for (const name of ["core", "zk-protocol", "zk-recipes"]) {
    const target = join(modules, "@holdfast", name);
    mkdirSync(target, { recursive: true });
    const exports = { ".": "./index.js", "./internal": "./internal.js" };
    writeFileSync(join(target, "package.json"), JSON.stringify({ type: "module", exports }));
    const args = [
      "-p",
      "tsconfig.build.json",
      "--noCheck",
      "--declaration",
      "false",
      "--declarationMap",
      "false",
    ];
    const tsc = spawn(
      process.execPath,
      [compiler, ...args, "--isolatedDeclarations", "false", "--outDir", target],
      {
        cwd: join(packages, name),
        stdio: ["ignore", "inherit", "inherit"],
      },
    );
    const [code] = await once(tsc, "exit");
    if (code !== 0) throw new Error(`tsc of ${name} ended with ${code}`);
  }
  return { folder, sources: join(modules, "@holdfast/zk-recipes") };
}
