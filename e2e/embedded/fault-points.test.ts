import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { buildPackages, compile, scratchInside } from "../support/process/emit.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

beforeAll(() => buildPackages("@holdfast/test-servers"), 180_000);

/** Compiles each line, as the body of a user's test, against the built package. */
async function check(lines: readonly string[]): Promise<void> {
  await using scratch = await scratchInside();
  const scope = "zk: ZkTestServer, session: bigint, sessions: readonly bigint[], clock: ManualClock";
  const code = [
    'import type { ManualClock, ZkTestServer } from "@holdfast/test-servers";',
    `export const all: ((${scope}) => Promise<void>)[] = [`,
    ...lines.map((line) => `async (${scope}) => { ${line}; },`),
    "];",
  ];
  const file = join(scratch.dir, "lines.mts");
  await writeFile(file, code.join("\n"));
  await compile(file, scratch.dir, ["--strict", "--lib", "es2022,esnext.disposable"]);
}

test("every line of the list of faults passes a strict compiler, and one with a mistake does not", async () => {
  const text = await readFile(`${root}packages/test-servers/docs/fault-points.md`, "utf8");
  const rows = text.split("\n").filter((line) => line.startsWith("| "));
  const lines = rows.flatMap((row) =>
    [...(row.split(" | ").at(-1) ?? "").matchAll(/`([^`]+)`/g)].map(([, line]) => line ?? ""),
  );
  expect(lines.length).toBeGreaterThanOrEqual(37);
  await check(lines);
  await expect(check([...lines, 'zk.faults.on({ opp: "create2" }, { do: "drop" })'])).rejects.toThrow("opp");
});
