import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeScratchFolder } from "../../src/process/scratch-folder.js";

const here = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Compiles the sources of this package to JavaScript in a separate folder, for processes that tests start: Node 20 runs no
 * TypeScript. Only files that import nothing from other packages can be run from there.
 */
export async function emitSources(): Promise<string> {
  const folder = makeScratchFolder("emitted");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
  const args = [
    "-p",
    "tsconfig.build.json",
    "--noCheck",
    "--declaration",
    "false",
    "--isolatedDeclarations",
    "false",
  ];
  const compiler = spawn(
    process.execPath,
    [join(typescript, "bin/tsc"), ...args, "--declarationMap", "false", "--outDir", folder],
    { cwd: here, stdio: ["ignore", "inherit", "inherit"] },
  );
  const [code] = await once(compiler, "exit");
  if (code !== 0) throw new Error(`tsc ended with ${code}`);
  return folder;
}
