import { BackendError, UnsupportedError } from "@holdfast/core";
import { eventually, type RedisNode, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { OutcomeUnknownError } from "../../src/client/errors.js";
import { freshName, increment, openLine, settled } from "./support.js";

let master: RedisNode;
let replicas: readonly RedisNode[];

beforeAll(async () => {
  [master, ...replicas] = (await Promise.all([1, 2, 3].map(() => startRedis()))) as [
    RedisNode,
    RedisNode,
    RedisNode,
  ];
  for (const replica of replicas) await replica.command("REPLICAOF", master.host, master.port);
  await online(2);
});
afterAll(() => Promise.all([master, ...replicas].map((node) => node.stop())));

async function online(count: number): Promise<void> {
  await eventually(
    async () => {
      const info = await master.info("replication");
      return Object.values(info).filter((value) => value.includes("state=online")).length === count;
    },
    { what: `${count} replicas to be in step` },
  );
}

const wait = (count: number, timeoutMs = 1_000) => ({ wait: { replicas: count, timeoutMs } });

test("counts the replicas that acknowledged, in the flight of the script", async () => {
  const proxy = await startRedisProxy({ target: master.address });
  onTestFinished(() => proxy.close());
  const { line, warnings } = openLine({ url: `redis://${proxy.connectString}`, replicas: 2, acks: "all" });
  await line.whenConnected();
  const key = freshName("acked");
  await line.run(increment, [key], [], wait(2));
  proxy.reset();
  const answer = await line.run(increment, [key], [], wait(2));
  expect(answer).toMatchObject({ reply: 2, acknowledged: 2, runId: await master.runId() });
  expect(proxy.counts()).toMatchObject({ flights: 1, commands: 2 });
  expect(proxy.counts().byName).toMatchObject({ EVALSHA: 1, WAIT: 1 });
  expect(warnings).toEqual([]);
});

test("runs whatever was flushed with one flight more, and counts for the run that was executed", async () => {
  const { line } = openLine({ url: master.url, replicas: 2, acks: 1 });
  await line.whenConnected();
  const key = freshName("flushed");
  await line.run(increment, [key], [], wait(1));
  await master.flushScripts();
  const answers = await Promise.all([1, 2, 3].map(() => line.run(increment, [key], [], wait(1))));
  expect(answers.map(({ reply }) => reply).sort()).toEqual([2, 3, 4]);
  for (const { acknowledged } of answers) expect(acknowledged).toBeGreaterThanOrEqual(1);
});

test("pays for a frozen replica once for all runs together, and holds nobody else up", async () => {
  const { line } = openLine({ url: master.url, replicas: 2, acks: "all", waitTimeoutMs: 400 });
  await line.whenConnected();
  const key = freshName("frozen");
  await line.run(increment, [key], [], wait(2, 400));
  const [frozen] = replicas as [RedisNode];
  await frozen.pause();
  onTestFinished(async () => {
    frozen.resume();
    await online(2);
  });
  const startedMs = performance.now();
  const runs = Array.from({ length: 20 }, () => line.run(increment, [key], [], wait(2, 400)));
  const { tookMs } = await settled(line.run(increment, [freshName("other")], []));
  expect(tookMs).toBeLessThan(200);
  const answers = await Promise.all(runs);
  // One WAIT for the first, one for the nineteen that came meanwhile.
  expect(performance.now() - startedMs).toBeLessThan(1_200);
  for (const { acknowledged } of answers) expect(acknowledged).toBe(1);
});

test("is unknown when the script was answered and its WAIT was not", async () => {
  const proxy = await startRedisProxy({ target: master.address });
  onTestFinished(() => proxy.close());
  const { line } = openLine({ url: `redis://${proxy.connectString}`, replicas: 2, acks: 1 });
  await line.whenConnected();
  const key = freshName("half");
  await line.run(increment, [key], [], wait(1));
  proxy.dropReply({ name: "WAIT" });
  const { error } = await settled(line.run(increment, [key], [], wait(1)));
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(String(error)).toContain("WAIT has no count");
  expect(await master.command("GET", key)).toBe("2");
  // The next one finds a new connection, waiting for it.
  expect(await line.run(increment, [key], [], wait(1))).toMatchObject({ reply: 3 });
});

test("refuses at once, with the numbers, while fewer replicas are connected than a grant needs", async () => {
  const { line, warnings } = openLine({ url: master.url, replicas: 3, acks: 3 });
  await line.whenConnected();
  expect(warnings).toMatchObject([{ code: "HF_REPLICAS_MISSING" }]);
  expect(warnings[0]?.message).toContain("2 of the 3 replicas");
  const key = freshName("few");
  const { error, tookMs } = await settled(line.run(increment, [key], [], wait(3)));
  expect(error).toBeInstanceOf(BackendError);
  expect(error).toMatchObject({ retryable: true, servers: [master.address] });
  expect(String(error)).toContain("needs 3 of 3 replicas, and 2 are connected");
  expect(tookMs).toBeLessThan(50);
  expect(await master.command("GET", key)).toBeNull();
});

test("learns within seconds that a replica has gone, and that it is back", async () => {
  const { line } = openLine({ url: master.url, replicas: 2, acks: 2 });
  await line.whenConnected();
  const key = freshName("gone");
  await line.run(increment, [key], [], wait(2));
  const [, leaving] = replicas as [RedisNode, RedisNode];
  await leaving.command("REPLICAOF", "NO", "ONE");
  await eventually(
    async () =>
      String((await settled(line.run(increment, [key], [], wait(2, 100)))).error).includes("1 is connected"),
    { what: "the refusal", withinMs: 3_000 },
  );
  await leaving.command("REPLICAOF", master.host, master.port);
  await online(2);
  await eventually(
    async () => (await settled(line.run(increment, [key], [], wait(2)))).value?.acknowledged === 2,
    {
      what: "grants again",
      withinMs: 3_000,
    },
  );
});

test("says that a server without WAIT cannot keep the policy", async () => {
  const plain = await startRedis({ config: { "rename-command": 'WAIT ""' } });
  onTestFinished(() => plain.stop());
  await plain.command("PING");
  const follower = await startRedis();
  onTestFinished(() => follower.stop());
  await follower.command("REPLICAOF", plain.host, plain.port);
  const { line } = openLine({ url: plain.url, replicas: 1, acks: 1 });
  await line.whenConnected();
  const unsupported = await eventually(
    async () => {
      const { error } = await settled(line.run(increment, ["x"], [], wait(1)));
      return error instanceof UnsupportedError ? error : undefined;
    },
    { what: "the typed refusal" },
  );
  expect(unsupported.message).toContain('set acks: "none"');
  expect(await plain.command("GET", "x")).toBeNull();
});
