import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { redisLocks } from "@holdfast/redis-recipes";
import {
  type EmbeddedZooKeeper,
  type RedisNode,
  startEmbeddedZooKeeper,
  startRedis,
} from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Program } from "../packaging/program.js";
import { type Postgres, startPostgres } from "../support/postgres.js";
import { buildPackages } from "../support/process/emit.js";
import { drawn } from "../support/share.js";

const folder = fileURLToPath(new URL("../../examples", import.meta.url));

let redis: RedisNode;
let zookeeper: EmbeddedZooKeeper;
let postgres: Postgres;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  [redis, zookeeper, postgres] = await Promise.all([startRedis(), startEmbeddedZooKeeper(), startPostgres()]);
  env = {
    ...process.env,
    REDIS_URL: redis.url,
    ZOOKEEPER_CONNECT: zookeeper.connectString,
    DATABASE_URL: postgres.url,
    PORT: "0",
  };
  await buildPackages("@holdfast/metrics", "@holdfast/multi-lock", "@holdfast/test-servers");
});
afterAll(async () => {
  await Promise.all([redis?.stop(), zookeeper?.stop(), postgres?.stop()]);
});

const start = (file: string): Program => Program.start(join(folder, file), folder, [], env);

/** The examples that end by themselves, and their output. */
const programs: Readonly<Record<string, readonly string[]>> = {
  "job-once-per-fleet.mjs": [
    "the replica that is 0 ms late has run the job",
    "the replica that is 120 ms late has left it to another one",
    "the replica that is 240 ms late has left it to another one",
  ],
  "bounded-calls.mjs": ["10 calls, at most 3 at a time"],
  "cache-rebuild.mjs": ['10 callers, 1 rebuild, all read "apples 1.20"'],
  "transfer.mjs": ["alice has 90, bob has 110"],
  "fenced-postgresql.mjs": [
    "the first holder may write: true",
    "the second holder may write: true",
    "the first may write again: false",
    "the order is sent",
  ],
  "fenced-sqlite.mjs": [
    "the first holder may write: true",
    "the second holder may write: true",
    "the first may write again: false",
    "the order is sent",
  ],
  "own-ioredis.mjs": ["the service's own command: 1", "after close(): PONG"],
  "own-zookeeper-client.mjs": ["the service's own request finds /: true", "closed"],
  "move-from-redlock.mjs": [
    "the old release beside deployment 1: 0 overlaps",
    "deployment 1 beside deployment 2: 0 overlaps",
  ],
  "move-from-redis-semaphore.mjs": [
    "the old release beside deployment 1: 0 overlaps",
    "deployment 1 beside deployment 2: 0 overlaps",
  ],
};

it.each(drawn("examples that end by themselves", Object.entries(programs), 5, ([file]) => file))(
  "%s does what its first line says, and ends by itself without a warning",
  async (file, said) => {
    const program = start(file);
    expect(await program.end(), program.errors).toMatchObject({ code: 0, signal: null });
    expect(program.lines).toEqual(said);
    expect(program.errors).toBe("");
  },
);

/** The address at which a service of the examples listens. */
async function addressOf(program: Program): Promise<string> {
  const line = await program.saysWith("listening on ");
  return line.replace("listening on ", "");
}

it("orders-service.mjs serves one request for an order at a time, others beside it, and finishes what it has begun on SIGTERM", async () => {
  const program = start("orders-service.mjs");
  const address = await addressOf(program);
  const pay = (order: number): Promise<Response> =>
    fetch(`${address}/orders/${order}/pay`, { method: "POST" });
  // Another replica has the order until the request has given up. This service would have it for two seconds only.
  await using replica = redisLocks({ url: redis.url });
  const busy = await replica.mutex("orders/42").acquire();
  expect((await pay(42)).status).toBe(409);
  await busy.release();
  const [first, other] = [pay(42), pay(43)];
  await expect.poll(() => redis.command("EXISTS", "orders/42", "orders/43")).toBe(2);
  program.child.kill("SIGTERM");
  expect([(await first).status, (await other).status]).toEqual([200, 200]);
  expect(await program.end(), program.errors).toMatchObject({ code: null, signal: "SIGTERM" });
  expect(program.errors).toBe("");
});

it("leader.mjs hands over when it is asked to end", async () => {
  const first = start("leader.mjs");
  await first.says("leading");
  const second = start("leader.mjs");
  first.child.kill("SIGTERM");
  expect(await first.end(), first.errors).toMatchObject({ code: null, signal: "SIGTERM" });
  expect(first.lines).toEqual(["leading", "stopped"]);
  await second.says("leading");
  second.child.kill("SIGINT");
  expect(await second.end(), second.errors).toMatchObject({ code: null, signal: "SIGINT" });
});

it("metrics.mjs shows the locks of a service beside its own numbers", async () => {
  const program = start("metrics.mjs");
  const text = await (await fetch(`${await addressOf(program)}/metrics`)).text();
  expect(text).toContain("shop_sold_total 1");
  expect(text).toMatch(/holdfast_lock_acquire_duration_seconds_count\{[^}]*lock_group="orders\/\*"[^}]*\} 1/);
  program.child.kill("SIGTERM");
  expect(await program.end(), program.errors).toMatchObject({ signal: "SIGTERM" });
});

const services = ["leader.mjs", "metrics.mjs", "orders-service.mjs"];
/** Vitest itself runs these, in the project `unit`: see vitest.config.ts. */
const tests = ["embedded-zookeeper.test.mjs", "unit-tests.test.mjs"];

it("each example is run by a test, and listed in the readme", () => {
  const others = ["stock.mjs", "vitest.config.mjs"];
  const files = readdirSync(folder).filter((file) => file.endsWith(".mjs") && !others.includes(file));
  expect([...Object.keys(programs), ...services, ...tests].sort()).toEqual(files.sort());
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  for (const file of files) expect(readme).toContain(`](${file})`);
  const config = readFileSync(new URL("../../vitest.config.ts", import.meta.url), "utf8");
  expect(config).toContain('"examples/*.test.mjs"');
});
