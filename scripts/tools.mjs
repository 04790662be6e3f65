// The folder `tools` has what only releases, the rehearsal and full test runs need. It is no workspace, so that `npm ci` does not wait
// for it; it has a lock of its own, and is installed on first use.
import { spawn } from "node:child_process";
import { copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./pack.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "tools");
const withinMs = 600_000;

/** The program of a tool, after the installation that the lock asks for. */
export async function tool(name) {
  const installed = join(folder, "node_modules/.installed-lock.json");
  const texts = await Promise.all([read(join(folder, "package-lock.json")), read(installed)]);
  if (texts[0] !== texts[1]) {
    // Not `npm ci`: it refuses where the registry lacks an optional package of the lock, such as a binary of another platform.
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
