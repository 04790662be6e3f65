import { fileURLToPath } from "node:url";
import { run } from "../support/process/run.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Brings `dist` of a package and of what it needs up to date, for processes of their own. Fast when it is. */
export async function build(name: "test-servers" | "bench"): Promise<void> {
  const turbo = fileURLToPath(new URL("../../node_modules/.bin/turbo", import.meta.url));
  const args = ["run", "build", `--filter=@holdfast/${name}`, "--output-logs=errors-only"];
  await run(turbo, args, { cwd: root, withinMs: 120_000 });
}
