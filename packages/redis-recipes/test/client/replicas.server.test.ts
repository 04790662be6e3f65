import { createServer, connect as dial, type Socket } from "node:net";
import { UnsupportedError } from "@holdfast/core";
import { eventually, freePort, type RedisNode, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { NotSentError, OutcomeUnknownError, TooFewReplicasError } from "../../src/client/errors.js";
import { echo, freshName, increment, openLine, settled } from "./support.js";

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
/** The connection for runs that wait for replicas is opened beside the other one. A run waits as long as this for it. */
const patient = { commandTimeoutMs: 2_500 };

test("asks in the database that was selected on a given client before, with and without waiting for replicas", async () => {
  const client = new Redis(master.port, master.host);
  onTestFinished(() => client.disconnect());
  await client.select(3);
  const { line } = openLine({ client, replicas: 2, acks: "all" });
  await line.whenConnected();
  const key = freshName("selected");
  expect((await line.run(increment, [key], [], wait(2))).acknowledged).toBe(2);
  expect((await line.run(increment, [key], [])).reply).toBe(2);
});

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
  expect(proxy.counts()).toMatchObject({ flights: 1, commands: 3 });
  expect(proxy.counts().byName).toMatchObject({ EVALSHA: 2, WAIT: 1 });
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

test("pays for a frozen replica once for all runs together, and delays no run that waits for no replica", async () => {
  const { line } = openLine({ url: master.url, replicas: 2, acks: "all", waitTimeoutMs: 1_000 });
  await line.whenConnected();
  const key = freshName("frozen");
  await line.run(increment, [key], [], wait(2, 1_000));
  const [frozen] = replicas as [RedisNode];
  await frozen.pause();
  onTestFinished(async () => {
    frozen.resume();
    await online(2);
  });
  const startedMs = performance.now();
  const runs = Array.from({ length: 20 }, () => line.run(increment, [key], [], wait(2, 1_000)));
  let waited = false;
  const first = Promise.race(runs).then(() => {
    waited = true;
  });
  await line.run(increment, [freshName("other")], []);
  expect(waited).toBe(false);
  await first;
  const answers = await Promise.all(runs);
  // One WAIT serves the first run, and one more serves the nineteen that came meanwhile.
  expect(performance.now() - startedMs).toBeLessThan(10_000);
  for (const { acknowledged } of answers) expect(acknowledged).toBe(1);
});

test("counts no replica for a run that found nothing to write, while none can have what was written before", async () => {
  const { line } = openLine({ url: master.url, replicas: 2, acks: 1 });
  await line.whenConnected();
  const key = freshName("unwritten");
  expect((await line.run(increment, [key], [], wait(2))).acknowledged).toBe(2);
  onTestFinished(async () => {
    for (const replica of replicas) replica.resume();
    await online(2);
  });
  for (const replica of replicas) await replica.pause();
  const before = await master.info("persistence");
  const answer = await line.run(echo, [key], ["held already"], wait(1, 200));
  expect(answer).toMatchObject({ reply: "held already", acknowledged: 0 });
  const changes = "rdb_changes_since_last_save";
  expect(Number((await master.info("persistence"))[changes]) - Number(before[changes])).toBe(1);
  expect(await master.command("GET", key)).toBe("1");
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
  // The next run waits for a new connection.
  expect(await line.run(increment, [key], [], wait(1))).toMatchObject({ reply: 3 });
});

test("refuses at once, with the numbers, while fewer replicas are connected than a grant needs", async () => {
  const { line, warnings } = openLine({ url: master.url, replicas: 3, acks: 3, ...patient });
  await line.whenConnected();
  expect(warnings).toMatchObject([{ code: "HF_REPLICAS_MISSING" }]);
  expect(warnings[0]?.message).toContain("2 of the 3 replicas");
  // This run ends when the connection for such runs is ready.
  await line.run(increment, [freshName("before")], [], wait(2));
  const key = freshName("few");
  const { error, tookMs } = await settled(line.run(increment, [key], [], wait(3)));
  expect(error).toBeInstanceOf(TooFewReplicasError);
  expect(error).toMatchObject({ retryable: false, servers: [master.address] });
  expect(error).toMatchObject({ needed: 3, configured: 3, connected: 2 });
  expect(String(error)).toContain("by the option acks a grant needs 3 of 3 replicas, and 2 are connected");
  expect(tookMs).toBeLessThan(2_000);
  expect(await master.command("GET", key)).toBeNull();
});

test("refuses at once while others still wait for their replicas", async () => {
  const { line } = openLine({ url: master.url, replicas: 3, acks: 3, waitTimeoutMs: 3_000 });
  await line.whenConnected();
  const key = freshName("behind");
  await line.run(increment, [key], [], wait(2));
  const [frozen] = replicas as [RedisNode];
  await frozen.pause();
  onTestFinished(async () => {
    frozen.resume();
    await online(2);
  });
  let waited = false;
  const waiting = line.run(increment, [key], [], wait(2, 3_000)).finally(() => {
    waited = true;
  });
  const { error } = await settled(line.run(increment, [key], [], wait(3)));
  expect(error).toBeInstanceOf(TooFewReplicasError);
  expect(waited).toBe(false);
  expect(await waiting).toMatchObject({ reply: 2, acknowledged: 1 });
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
    { what: "the refusal", withinMs: 20_000 },
  );
  await leaving.command("REPLICAOF", master.host, master.port);
  await online(2);
  await eventually(
    async () => (await settled(line.run(increment, [key], [], wait(2)))).value?.acknowledged === 2,
    {
      what: "grants again",
      withinMs: 20_000,
    },
  );
});

test("refuses those too that asked before anything was known of the server, and runs none of them", async () => {
  const proxy = await startRedisProxy({ target: master.address });
  onTestFinished(() => proxy.close());
  const { line } = openLine({ url: `redis://${proxy.connectString}`, replicas: 3, acks: 3, ...patient });
  // The connection for runs with replicas asks WAIT 0 0 first. Until that is answered, all such runs are queued.
  const introduction = proxy.holdReply({ name: "WAIT" });
  await line.whenConnected();
  const key = freshName("early");
  const early = [1, 2, 3].map(() => settled(line.run(increment, [key], [], wait(3))));
  await introduction.hit();
  introduction.release();
  for (const { error } of await Promise.all(early)) expect(error).toBeInstanceOf(TooFewReplicasError);
  expect(await master.command("GET", key)).toBeNull();
});

test("says that a server without WAIT cannot keep the policy, and runs nothing there", async () => {
  const plain = await startRedis({ config: { "rename-command": 'WAIT ""' } });
  onTestFinished(() => plain.stop());
  const { line } = openLine({ url: plain.url, replicas: 1, acks: 1, ...patient });
  await line.whenConnected();
  // These runs are sent at once, mostly before the second connection is ready.
  const first = await Promise.all([1, 2, 3].map(() => settled(line.run(increment, ["x"], [], wait(1)))));
  for (const { error } of first) {
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(String(error)).toContain('set acks: "none"');
  }
  expect(await plain.command("GET", "x")).toBeNull();
});

/** An address that leads to one server or to another, like a virtual address that moves in a failover. */
async function movingAddress(first: RedisNode): Promise<{ port: number; leadTo(node: RedisNode): void }> {
  let target = first;
  const sockets = new Set<Socket>();
  const port = await freePort();
  const server = createServer((client) => {
    const inner = dial({ host: target.host, port: target.port });
    for (const [one, other] of [
      [client, inner],
      [inner, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const leadTo = (node: RedisNode): void => {
    target = node;
  };
  return { port, leadTo };
}

/** The CLIENT LIST entry of a connection that has introduced itself with WAIT and has done nothing since. */
async function waitingConnection(node: RedisNode): Promise<string | undefined> {
  const clients = String(await node.command("CLIENT", "LIST", "TYPE", "normal")).split("\n");
  return clients.find((each) => each.includes(" cmd=wait "));
}

/** Ends only that connection. The next one goes to the server to which the address leads by then. */
async function endWaitingConnection(node: RedisNode): Promise<void> {
  const waiting = await eventually(() => waitingConnection(node), { what: "the connection that waits" });
  await node.command("CLIENT", "KILL", "ID", /^id=(\d+)/.exec(waiting)?.[1] ?? "");
}

test("runs nothing that waits for replicas on another master than the one that it asks everything else", async () => {
  const old = await startRedis();
  onTestFinished(() => old.stop());
  const { port, leadTo } = await movingAddress(old);
  // The client is a given one, so its connection stays at the old server.
  const client = new Redis({ host: "127.0.0.1", port, maxRetriesPerRequest: 0 });
  onTestFinished(() => client.disconnect());
  const { line } = openLine({ client, replicas: 2, acks: 1 });
  await line.whenConnected();
  leadTo(master);
  await endWaitingConnection(old);
  await eventually(async () => (await waitingConnection(master)) !== undefined, {
    what: "the next connection that waits to be at the other master",
  });
  const key = freshName("moved");
  const { error } = await settled(line.run(increment, [key], [], wait(1)));
  expect(error).toBeInstanceOf(NotSentError);
  expect(line.masterOf(key)).toBe(await old.runId());
  expect(await master.command("GET", key)).toBeNull();
  expect(await old.command("GET", key)).toBeNull();
});

test("follows the newer of its connections to another master", async () => {
  const old = await startRedis();
  onTestFinished(() => old.stop());
  const { port, leadTo } = await movingAddress(old);
  const { line } = openLine({ url: `redis://127.0.0.1:${port}`, replicas: 2, acks: 1 });
  await line.whenConnected();
  leadTo(master);
  await endWaitingConnection(old);
  await eventually(async () => line.masterOf("x") === (await master.runId()), { what: "the new master" });
  const answer = await line.run(increment, [freshName("moved")], [], wait(1));
  expect(answer.runId).toBe(await master.runId());
});
