import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPromtool } from "@holdfast/test-servers";

export const promtool: string | undefined = findPromtool();

if (promtool === undefined) {
  console.warn("skipped: what promtool would check, since it is not installed (Debian package prometheus)");
}

/** What promtool finds wrong in an exposition in the text format; empty if nothing. */
export function checkText(exposition: string): string {
  const { status, stdout, stderr } = spawnSync(promtool ?? "promtool", ["check", "metrics"], {
    input: exposition,
    encoding: "utf8",
  });
  return status === 0 ? "" : `exit ${status}: ${stdout}${stderr}`;
}

/**
 * What Prometheus' OpenMetrics parser finds wrong in an exposition; empty if nothing. Of promtool's commands only the backfill
 * uses that parser, and it requires a time on each sample.
 */
export function checkOpenMetrics(exposition: string): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-openmetrics-"));
  try {
    const timed = exposition
      .split("\n")
      .map((line) =>
        line === "" || line.startsWith("#")
          ? line
          : line.replace(/^((?:[^"#]|"(?:[^"\\]|\\.)*")*?)( #.*)?$/, "$1 1700000000$2"),
      )
      .join("\n");
    const file = join(folder, "metrics.txt");
    writeFileSync(file, timed);
    const { status, stdout, stderr } = spawnSync(
      promtool ?? "promtool",
      ["tsdb", "create-blocks-from", "openmetrics", file, join(folder, "data")],
      { encoding: "utf8" },
    );
    return status === 0 ? "" : `exit ${status}: ${stdout}${stderr}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
