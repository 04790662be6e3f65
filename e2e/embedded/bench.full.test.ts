import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { Program } from "../packaging/program.js";
import { buildPackages } from "../support/process/emit.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

beforeAll(() => buildPackages("@holdfast/bench"), 180_000);

test("the bench of the embedded server does what it counts, and its exit code says whether an aim was missed", async () => {
  const args = "embedded --pairs 20000 --znodes 5000 --sessions 50".split(" ");
  const program = Program.start(`${root}apps/bench/dist/main.js`, root, args);
  const { code } = await program.ended;
  console.log(program.output);
  const lines = program.output.trimEnd().split("\n");
  expect(lines, program.errors).toHaveLength(3);
  expect(lines[0]).toMatch(/^start: .* ms in the middle, .* at best; .* \(aim 50 ms: (met|MISSED)\)$/);
  expect(lines[1]).toMatch(
    /^20000 pairs of create and delete, 256 requests in flight: \d+ pairs\/s \(aim 10000/,
  );
  expect(lines[2]).toMatch(/^5000 nodes and 50 sessions: \d+ MB resident, .* \(aim 300 MB: met\)$/);
  expect(code).toBe(program.output.includes("MISSED") ? 1 : 0);
});
