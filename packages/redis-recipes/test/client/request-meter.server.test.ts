import { eventually, type RedisNode, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ReplyError } from "../../src/client/errors.js";
import type { RequestSettled } from "../../src/client/request-meter.js";
import { freshName, increment, openLine } from "./support.js";

let server: RedisNode;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** A line that is measured from now on. The proxy knows what was sent. */
async function measured({
  given = false,
  ...options
}: {
  acks?: "all";
  replicas?: number;
  given?: boolean;
} = {}) {
  const proxy = await startRedisProxy({ target: server.address });
  onTestFinished(() => proxy.close());
  const heard: RequestSettled[] = [];
  const meter = { wanted: true, settled: (request: RequestSettled) => void heard.push(request) };
  const client = given ? new Redis({ host: "127.0.0.1", port: proxy.port }) : undefined;
  onTestFinished(() => client?.disconnect());
  const target = client === undefined ? { url: `redis://${proxy.connectString}` } : { client };
  const opened = openLine({ ...target, ...options }, { meter });
  await opened.line.whenConnected();
  proxy.reset();
  const told = () => heard.map(({ op, outcome }) => `${op} ${outcome}`);
  return { proxy, heard, told, meter, ...opened };
}

test("each script is reported once, by its name, and costs no command more", async () => {
  const { line, proxy, heard, told } = await measured();
  const key = freshName("one");
  await line.run(increment, [key], []);
  await line.run(increment, [key], []);
  const run = { keys: [key], args: [] };
  await Promise.all(line.runAll(increment, [run, run]));
  expect(told()).toEqual(Array.from({ length: 4 }, () => "test-increment ok"));
  expect(proxy.counts().byName).toMatchObject({ EVAL: 1, EVALSHA: 3 });
  expect(proxy.counts()).toMatchObject({ flights: 3, commands: 4 });
  for (const { tookMs } of heard) expect(tookMs).toBeGreaterThan(0);
});

test("a refusal is an error, and a script that was forgotten is reported as it was sent: twice", async () => {
  const { line, told } = await measured();
  const text = freshName("text");
  await server.command("SET", text, "no number");
  await expect(line.run(increment, [text], [])).rejects.toBeInstanceOf(ReplyError);
  await line.run(increment, [freshName("known")], []);
  await server.flushScripts();
  await line.run(increment, [freshName("flushed")], []);
  expect(told()).toEqual([
    "test-increment error",
    "test-increment ok",
    "test-increment error",
    "test-increment ok",
  ]);
});

test("an answer that does not come in time makes the outcome unknown, and a late answer is not reported", async () => {
  // With a given client, the client's own options say how long an answer is waited for.
  const { line, proxy, heard, told } = await measured({ given: true });
  const key = freshName("late");
  await line.run(increment, [key], []);
  const held = proxy.holdReply({ name: ["EVALSHA"] });
  await expect(line.run(increment, [key], [])).rejects.toMatchObject({ name: "OutcomeUnknownError" });
  expect(told()).toEqual(["test-increment ok", "test-increment unknown"]);
  expect(heard[1]?.tookMs).toBeGreaterThan(900);
  held.release();
  await line.whenConnected();
  // This request is sent after the late one, on the same connection.
  await line.run(increment, [key], []);
  expect(told()).toEqual(["test-increment ok", "test-increment unknown", "test-increment ok"]);
});

test("a connection that breaks makes the outcome unknown, and what was never sent is not reported", async () => {
  const { line, proxy, told } = await measured();
  const key = freshName("cut");
  await line.run(increment, [key], []);
  proxy.cut({ name: ["EVALSHA"], at: "applied" });
  await expect(line.run(increment, [key], [])).rejects.toMatchObject({ name: "OutcomeUnknownError" });
  await expect(line.run(increment, [key], [])).rejects.toMatchObject({ name: "NotSentError" });
  expect(told()).toEqual(["test-increment ok", "test-increment unknown"]);
});

test("waiting for replicas is reported beside the script, each with its own time", async () => {
  const replica = await startRedis();
  onTestFinished(() => replica.stop());
  await replica.command("REPLICAOF", server.host, server.port);
  await eventually(
    async () =>
      Object.values(await server.info("replication")).some((value) => value.includes("state=online")),
    { what: "the replica to be in step" },
  );
  const { line, told, heard } = await measured({ replicas: 1, acks: "all" });
  await line.run(increment, [freshName("acked")], [], { wait: { replicas: 1, timeoutMs: 1_000 } });
  expect(told()).toEqual(["test-increment ok", "write-again ok", "wait ok"]);
  expect(heard[0]?.tookMs).toBeLessThanOrEqual(heard[2]?.tookMs ?? 0);
});

test("subscribing and its end are reported too", async () => {
  const { line, told } = await measured();
  const subscription = line.subscribe(freshName("channel"), "plain", () => {});
  await subscription.ready;
  expect(told()).toEqual(["subscribe ok"]);
  subscription.end();
  await eventually(() => told().length === 2, { what: "the end of it" });
  expect(told()).toEqual(["subscribe ok", "unsubscribe ok"]);
});

test("nothing is measured without a listener", async () => {
  const { line, heard, meter } = await measured();
  meter.wanted = false;
  await line.run(increment, [freshName("quiet")], []);
  expect(heard).toEqual([]);
});
