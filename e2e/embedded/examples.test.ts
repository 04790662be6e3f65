import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { Program } from "../packaging/program.js";
import { compile, scratchInside } from "../support/emit.js";
import { build } from "./built.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
let examples: string[];

beforeAll(async () => {
  await build("bench");
  const text = await readFile(`${root}packages/test-servers/docs/zk-test-server.md`, "utf8");
  examples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? "");
  expect(examples).toHaveLength(3);
}, 180_000);

/** As somebody's own file: checked strictly, against the built packages, and made JavaScript. */
async function compiled(dir: string, name: string, code: string): Promise<string> {
  await writeFile(join(dir, `${name}.mts`), code);
  await compile(join(dir, `${name}.mts`), dir, ["--strict", "--lib", "es2022,esnext.disposable"]);
  return join(dir, `${name}.mjs`);
}

test("the example for vitest runs under vitest as it stands in the text", async () => {
  await using scratch = await scratchInside();
  await compiled(scratch.dir, "orders.test", examples[0] as string);
  // Or it would take the one of this repository.
  const config = 'export default { test: { include: ["*.test.mjs"] } };\n';
  await writeFile(join(scratch.dir, "vitest.config.mjs"), config);
  const args = ["run", "--root", scratch.dir, "--reporter", "json"];
  const program = Program.start(`${root}node_modules/vitest/vitest.mjs`, scratch.dir, args);
  const { code } = await program.ended;
  expect(code, program.output + program.errors).toBe(0);
  expect(JSON.parse(program.output)).toMatchObject({ numPassedTests: 2, numTotalTests: 2 });
});

test("the example for node:test runs under node as it stands in the text", async () => {
  await using scratch = await scratchInside();
  const program = Program.start(await compiled(scratch.dir, "orders", examples[1] as string), scratch.dir);
  const { code } = await program.ended;
  expect(code, program.output + program.errors).toBe(0);
  expect(program.output).toMatch(/^# pass 1$/m);
});

test("the example without hooks runs, and its process ends", async () => {
  await using scratch = await scratchInside();
  const file = await compiled(scratch.dir, "plain", (examples[2] as string).replace("port: 21810, ", ""));
  const program = Program.start(file, scratch.dir);
  expect((await program.ended).code, program.errors).toBe(0);
  expect(program.output).toMatch(/^127\.0\.0\.1:\d+\n$/);
});
