import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPromtool } from "@holdfast/test-servers";

export const promtool: string | undefined = findPromtool();

if (promtool === undefined) {
  console.warn("skipped: what promtool would check, since it is not installed (Debian package prometheus)");
}

/** What promtool says of an exposition in the text format; empty when it is content. */
export function checkText(exposition: string): string {
  const { status, stdout, stderr } = spawnSync(promtool ?? "promtool", ["check", "metrics"], {
    input: exposition,
    encoding: "utf8",
  });
  return status === 0 ? "" : `exit ${status}: ${stdout}${stderr}`;
}

/**
 * What Prometheus' parser of OpenMetrics says; empty when it is content. promtool has that parser in its backfill alone, which wants a
 * time on each sample.
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
