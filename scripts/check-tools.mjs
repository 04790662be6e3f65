// Checks of full test runs by other tools. attw checks that compilers of all kinds find the types of the packed packages. knip
// checks that no file and no dependency is left that nothing uses.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packAll, run } from "./pack.mjs";
import { tool } from "./tools.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const withinMs = 300_000;

const folder = await mkdtemp(join(tmpdir(), "holdfast-tools-"));
try {
  const attw = await tool("attw");
  for (const [name, tarball] of await packAll(folder)) {
    // Only ES modules are checked. CommonJS loads them by require() from Node.js 20.19 on, which the tool's rules do not know
    // yet.
    await run(attw, [tarball, "--profile", "esm-only", "--format", "ascii"], { cwd: root, withinMs });
    console.log(`attw: ${name}`);
  }
  await run(await tool("knip"), [], { cwd: root, withinMs });
  console.log("knip: no file and no dependency without use");
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
