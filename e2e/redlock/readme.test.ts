import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RedisNode, startRedis, startZooKeeper } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildPackages, compile, scratchInside } from "../support/process/emit.js";
import { run } from "../support/process/run.js";
import { maxLeaseMs, seasoned } from "./masters.js";

let masters: readonly RedisNode[];
beforeAll(async () => {
  masters = await Promise.all([1, 2, 3].map(() => startRedis()));
  // The examples have the default lease of 30 s. These nodes are made to look old, so that they need not sit that lease out.
  await seasoned(masters, maxLeaseMs);
  await Promise.all(masters.map((node) => node.command("HSET", "holdfast_redlock_node", "first_seen_ms", 1)));
  await buildPackages("@holdfast/multi-lock", "@holdfast/zk-recipes");
}, 180_000);
afterAll(() => Promise.all(masters.map((node) => node.stop())));

/** What the examples leave to the reader: a resource that refuses smaller tokens. */
const surroundings = `
let largest = -1n;
async function write(what: string, how: { fence: bigint | null }): Promise<void> {
  if (how.fence === null || how.fence < largest) throw new Error("refused");
  largest = how.fence;
  console.log(what + " " + how.fence);
}
`;

async function runExample(about: string, replaced: Readonly<Record<string, string>>): Promise<string> {
  const readme = await readFile(new URL("../../packages/multi-lock/README.md", import.meta.url), "utf8");
  const example = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)]
    .map(([, code = ""]) => code)
    .find((code) => code.includes(about));
  let code = example ?? "";
  expect(code).not.toBe("");
  const addresses = ["redis-a:6379", "redis-b:6379", "redis-c:6379"];
  addresses.forEach((address, index) => {
    code = code.replaceAll(address, `127.0.0.1:${masters[index]?.port}`);
  });
  for (const [from, to] of Object.entries(replaced)) code = code.replaceAll(from, to);
  await using scratch = await scratchInside();
  const source = join(scratch.dir, "example.mts");
  await writeFile(source, surroundings + code);
  await compile(source, scratch.dir, ["--strict", "--lib", "es2022,esnext.disposable"]);
  return await run(process.execPath, [join(scratch.dir, "example.mjs")], { withinMs: 30_000 });
}

it("the readme's example with tokens from ZooKeeper compiles, runs and lets the process end", async () => {
  const server = await startZooKeeper();
  try {
    const output = await runExample("zookeeperLocks", { "zk1:2181,zk2:2181,zk3:2181": server.connectString });
    expect(output.trim().split("\n")).toEqual(["first 1", "second 2"]);
  } finally {
    await server.stop();
  }
}, 300_000);

it("the readme's example with tokens from one Redis compiles, runs and lets the process end", async () => {
  const counter = await startRedis();
  try {
    const output = await runExample("ioredis", { "redis-counter:6379": `127.0.0.1:${counter.port}` });
    expect(output.trim().split("\n")).toEqual(["first 1", "second 2"]);
  } finally {
    await counter.stop();
  }
}, 300_000);
