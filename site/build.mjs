// Builds the site into site/dist: first the pages, then the reference of the API from the comments in the sources. A dead link is
// an error.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { build } from "vitepress";
import { stagePages } from "./pages.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));

await stagePages(root, `${here}.cache/pages`);
await build(here);
const { status } = spawnSync(process.execPath, ["node_modules/typedoc/bin/typedoc"], {
  cwd: here,
  stdio: "inherit",
});
process.exitCode = status ?? 1;
