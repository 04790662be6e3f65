import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeSampleHistory } from "../checkers/self-test/sample-history.js";

/**
 * `npm run bench -w @holdfast/chaos [-- OPERATIONS]`: measures how long it takes to judge a large history, in a process
 * of its own.
 */
const operations = Number(process.argv[2] ?? 1_000_000);
const folder = await mkdtemp(join(tmpdir(), "holdfast-bench-"));
try {
  const path = join(folder, "history.jsonl");
  await writeSampleHistory(path, operations);
  const cli = fileURLToPath(new URL("../cli.js", import.meta.url));
  const { status } = spawnSync(process.execPath, [cli, "check", path, "--time"], { stdio: "inherit" });
  process.exitCode = status ?? 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
