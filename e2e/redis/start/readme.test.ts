import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type RedisCluster,
  type RedisNode,
  type RedisReplicaSet,
  startRedis,
  startRedisCluster,
  startRedisReplicaSet,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildPackages, compile, scratchInside } from "../../support/process/emit.js";
import { run } from "../../support/process/run.js";
import { documentedUser, packageReadme } from "./support.js";

let plain: RedisNode;
let guarded: RedisNode;
let set: RedisReplicaSet;
let cluster: RedisCluster;

beforeAll(async () => {
  const users = [await documentedUser()];
  [plain, guarded, set, cluster] = await Promise.all([
    startRedis(),
    startRedis({ tls: true, users }),
    startRedisReplicaSet(),
    startRedisCluster({ masters: 3, replicas: 0 }),
    buildPackages("@holdfast/redis-recipes"),
  ]);
}, 180_000);
afterAll(async () => {
  await Promise.all([plain?.stop(), guarded?.stop(), set?.stop(), cluster?.stop()]);
});

interface Example {
  /** A text that is in this code block and in no other. */
  readonly has: string;
  /** Code that the example leaves to the reader. */
  readonly before?: () => string;
  /** Code that shows that the example worked. It prints `output`. */
  readonly after: string;
  readonly output: readonly string[];
}

const take = (locks: string): string =>
  `console.log(await (await ${locks}.mutex("orders:7").acquire({ waitMs: 5_000 })).release());`;

const examples: readonly Example[] = [
  {
    has: "await charge(order",
    before: () => `
const order = { id: 42 };
async function charge(what: typeof order, how: { fence: bigint | null; signal: AbortSignal }): Promise<void> {
  if (how.signal.aborted || how.fence === null) throw new Error("charged without a hold");
  console.log("charged", what.id);
}`,
    after: "",
    output: ["charged 42"],
  },
  {
    has: "rediss://",
    before: () => `const ca: string = ${JSON.stringify(guarded.tls?.ca)};`,
    after: `${take("one")}\n${take("watched")}\n${take("sharded")}
await Promise.all([one, watched, sharded].map((each) => each.close()));`,
    output: ["released", "released", "released"],
  },
  {
    has: "new Redis(",
    after: `
process.on("warning", (warning) => console.log(warning.message));
${take("locks")}
await locks.close();
client.disconnect();`,
    output: ["released"],
  },
  {
    has: '"server-warning"',
    before: () => "const log = (...words: readonly string[]): void => console.log(words.join(' '));",
    after: `
const lock = await locks.mutex("orders:8").acquire({ leaseMs: 600 });
const lost = new Promise<void>((resolve) => lock.lost.addEventListener("abort", () => resolve()));
const { Redis } = await import("ioredis");
const operator = new Redis("redis://127.0.0.1:6379");
await operator.del("orders:8");
await lost;
operator.disconnect();
await locks.close();`,
    output: [expect.stringMatching(/^orders:8 lost: \w+/) as string],
  },
];

/** Replaces the servers that the readme makes up by those of this test. */
function onOurs(text: string): string {
  const addresses = (list: readonly { host: string; port: number }[]): string =>
    list.map(({ host, port }) => `{ host: "${host}", port: ${port} }`).join(", ");
  return text
    .replaceAll("127.0.0.1:6379", plain.address)
    .replace('host: "127.0.0.1", port: 6379', `host: "127.0.0.1", port: ${plain.port}`)
    .replace("redis:6379/0", `${guarded.address}/0`)
    .replace("mymaster", set.name)
    .replace(/\{ host: "s1"[^\]]*/, addresses(set.sentinelAddresses))
    .replace(/\{ host: "n1"[^\]]*/, addresses(cluster.nodes.map(({ host, port }) => ({ host, port }))));
}

it("has no code but what is run here", async () => {
  const blocks = [...(await packageReadme()).matchAll(/```(\w+)\n([\s\S]*?)```/g)];
  expect(blocks.map(([, language]) => language).sort()).toEqual(
    [...examples.map(() => "ts"), "acl", "sh"].sort(),
  );
});

it.each(examples)("the example with $has compiles, runs, and the process ends", async (example) => {
  const blocks = [...(await packageReadme()).matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  const [block = "", ...more] = blocks.filter((text) => text.includes(example.has));
  expect([block === "", more.length]).toEqual([false, 0]);
  await using scratch = await scratchInside();
  const source = join(scratch.dir, "example.mts");
  await writeFile(source, onOurs(`export {};\n${example.before?.() ?? ""}\n${block}\n${example.after}\n`));
  await compile(source, scratch.dir, [
    "--strict",
    "--exactOptionalPropertyTypes",
    "--lib",
    "es2022,esnext.disposable",
  ]);
  const output = await run(process.execPath, [join(scratch.dir, "example.mjs")], { withinMs: 20_000 });
  expect(output.trim().split("\n")).toEqual(example.output);
});
