// `npm run screenshots` makes the pictures of the dashboard's pages that its README shows, from the page and the server in this
// tree. The browser test of the pages takes them, in both themes.
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = fileURLToPath(new URL("../apps/dashboard/docs/screenshots/", import.meta.url));
/**
 * The limit is low because a repository keeps each version of each picture for good. `pngquant`, if installed, makes them a
 * third.
 */
const mostBytes = 150_000;

const made = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "--project", "dashboard", "e2e/dashboard/axe"],
  { cwd: root, stdio: "inherit", env: { ...process.env, HOLDFAST_SCREENSHOTS: "1" } },
);
if (made.status !== 0) process.exit(made.status ?? 1);
const pictures = readdirSync(folder).map((name) => `${folder}${name}`);
const options = ["--force", "--skip-if-larger", "--speed", "1", "--quality", "80-98", "--ext", ".png"];
const smaller = spawnSync("pngquant", [...options, ...pictures], { stdio: "inherit" });
if (smaller.error !== undefined)
  console.log("pngquant is not there, so the pictures stay as large as they are");
let large = 0;
for (const name of readdirSync(folder).sort()) {
  const bytes = statSync(`${folder}${name}`).size;
  if (bytes > mostBytes) large += 1;
  console.log(`${name}: ${Math.ceil(bytes / 1_000)} KB${bytes > mostBytes ? ", too large" : ""}`);
}
process.exit(large === 0 ? 0 : 1);
