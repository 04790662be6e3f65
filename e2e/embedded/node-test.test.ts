import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { Program } from "../packaging/program.js";
import { buildPackages, compile, scratchInside } from "../support/process/emit.js";

// Builds all packages that the suite uses.
beforeAll(() => buildPackages("@holdfast/bench"), 180_000);

test("under node:test the kit starts and stops with the suite, heals between tests, and lets the process end", async () => {
  await using scratch = await scratchInside();
  // No type check here, because the types are checked with the other tests.
  await compile(fileURLToPath(new URL("orders-suite.ts", import.meta.url)), scratch.dir, ["--noCheck"]);
  const program = Program.start(`${scratch.dir}/orders-suite.js`, scratch.dir);
  const { code } = await program.ended;
  expect(code, program.output + program.errors).toBe(0);
  expect(program.output).toMatch(/^# tests 3$/m);
  expect(program.output).toMatch(/^# pass 3$/m);
});
