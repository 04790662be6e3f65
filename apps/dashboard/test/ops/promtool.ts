import { spawnSync } from "node:child_process";
import { requirePromtool } from "@holdfast/test-servers";

/** Runs promtool; `told` is its output, and `ok` is true if it ended with 0. */
export function promtool(args: readonly string[], cwd: string): { ok: boolean; told: string } {
  const { status, stdout, stderr } = spawnSync(requirePromtool(), args, { cwd, encoding: "utf8" });
  return { ok: status === 0, told: `${stdout}${stderr}` };
}
