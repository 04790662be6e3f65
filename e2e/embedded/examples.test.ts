import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Program } from "../packaging/program.js";
import { buildPackages, compile, scratchInside } from "../support/process/emit.js";
import { inFullRuns } from "../support/share.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
let scratch: Awaited<ReturnType<typeof scratchInside>>;

/** Writes each example of the text, in order, to a user's file, and compiles it strictly against the built packages. */
beforeAll(async () => {
  await buildPackages("@holdfast/test-servers");
  scratch = await scratchInside();
  const text = await readFile(`${root}packages/test-servers/docs/zk-test-server.md`, "utf8");
  const examples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);
  expect(examples).toHaveLength(3);
  const files = ["orders.test.mts", "orders.mts", "plain.mts"].map((name) => join(scratch.dir, name));
  for (const [at, file] of files.entries())
    await writeFile(file, (examples[at] ?? "").replace("port: 21810, ", ""));
  await compile(files, scratch.dir, ["--strict", "--lib", "es2022,esnext.disposable"]);
}, 180_000);
afterAll(() => scratch?.[Symbol.asyncDispose]());

const besides = inFullRuns("examples that need a vitest of their own", 1, test);
besides("the example for vitest runs under vitest as it stands in the text", async () => {
  // Without this file Vitest would take the configuration of this repository.
  const config = 'export default { test: { include: ["*.test.mjs"] } };\n';
  await writeFile(join(scratch.dir, "vitest.config.mjs"), config);
  const args = ["run", "--root", scratch.dir, "--reporter", "json"];
  const program = Program.start(`${root}node_modules/vitest/vitest.mjs`, scratch.dir, args);
  const { code } = await program.ended;
  expect(code, program.output + program.errors).toBe(0);
  expect(JSON.parse(program.output)).toMatchObject({ numPassedTests: 2, numTotalTests: 2 });
});

test("the example for node:test runs under node as it stands in the text", async () => {
  const program = Program.start(join(scratch.dir, "orders.mjs"), scratch.dir);
  const { code } = await program.ended;
  expect(code, program.output + program.errors).toBe(0);
  expect(program.output).toMatch(/^# pass 1$/m);
});

test("the example without hooks runs, and its process ends", async () => {
  const program = Program.start(join(scratch.dir, "plain.mjs"), scratch.dir);
  expect((await program.ended).code, program.errors).toBe(0);
  expect(program.output).toMatch(/^127\.0\.0\.1:\d+\n$/);
});
