// The folder `tools` has the programs that only releases, the rehearsal and full test runs need. It is no workspace, so `npm
// ci` does not install it. It has its own lock file, and is installed on first use.
import { spawn } from "node:child_process";
import { copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./pack.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "tools");
const withinMs = 600_000;

/** The path of a tool's program. Installs the tools first if the lock file has changed. */
export async function tool(name) {
  const installed = join(folder, "node_modules/.installed-lock.json");
  const texts = await Promise.all([read(join(folder, "package-lock.json")), read(installed)]);
  if (texts[0] !== texts[1]) {
    // `npm ci` would fail if the registry lacks an optional package of the lock file, such as a binary for another platform.
    const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
    await run("npm", ["install", "--no-save", ...quiet], { cwd: folder, withinMs });
    await copyFile(join(folder, "package-lock.json"), installed);
  }
  return join(folder, "node_modules/.bin", name);
}

const read = (file) => readFile(file, "utf8").catch(() => null);

async function main([name, ...args]) {
  const child = spawn(await tool(name), args, { cwd: root, stdio: "inherit" });
  child.on("exit", (code) => {
    process.exitCode = code ?? 1;
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
