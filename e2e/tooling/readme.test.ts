import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startZooKeeper } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { buildPackages, compile, scratchInside } from "../support/emit.js";
import { run } from "../support/run.js";

/** What the example leaves to the reader. */
const surroundings = `
export {};
const order = { id: 42 };
async function charge(what: typeof order, how: { fence: bigint | null; signal: AbortSignal }): Promise<void> {
  if (how.signal.aborted || how.fence === null) throw new Error("charged without a hold");
  console.log("charged", what.id);
}
async function report(until: AbortSignal): Promise<void> {
  console.log("reported", until.aborted);
}
`;

it("the first example of the readme compiles, runs and lets the process end", async () => {
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  expect(example).toContain("127.0.0.1:2181");

  const server = await startZooKeeper();
  try {
    await buildPackages();
    await using scratch = await scratchInside();
    const source = join(scratch.dir, "example.mts");
    await writeFile(source, surroundings + example.replaceAll("127.0.0.1:2181", server.connectString));
    await compile(source, scratch.dir, ["--strict", "--lib", "es2022,esnext.disposable"]);
    const output = await run(process.execPath, [join(scratch.dir, "example.mjs")], { withinMs: 20_000 });
    expect(output.trim().split("\n")).toEqual(["charged 42", "charged 42", "reported false"]);
  } finally {
    await server.stop();
  }
});
