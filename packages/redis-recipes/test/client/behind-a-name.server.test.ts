import { eventually, type RedisNode, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { freshName, givenSettings, increment, type OpenLine, openLine } from "./support.js";

/** A primary, its replica, and one address that leads to the primary, as managed services offer it. */
async function service() {
  const [primary, replica] = await Promise.all([startRedis(), startRedis()]);
  const name = await startRedisProxy({ target: primary.address });
  onTestFinished(async () => {
    await name.close();
    await Promise.all([primary.stop(), replica.stop()]);
  });
  await follow(replica, primary);
  /** A planned failover: the address now leads to the other server. Existing connections stay at their server. */
  const failOver = async (): Promise<void> => {
    await replica.command("REPLICAOF", "NO", "ONE");
    name.lead(replica.address);
    await follow(primary, replica);
  };
  return { url: `redis://${name.connectString}`, port: name.port, host: "127.0.0.1", replica, failOver };
}

async function follow(replica: RedisNode, primary: RedisNode): Promise<void> {
  await replica.command("REPLICAOF", primary.host, primary.port);
  await eventually(
    async () =>
      Object.values(await primary.info("replication")).some((value) => value.includes("state=online")),
    { what: "the replica to be in step" },
  );
}

async function untilMaster({ line }: OpenLine, node: RedisNode): Promise<void> {
  const runId = await node.runId();
  await eventually(() => line.masterOf("x") === runId, { what: "the new primary", withinMs: 8_000 });
}

test("a primary behind a name is dialled again when it has become a replica, though nothing is written", async () => {
  const { url, replica, failOver } = await service();
  const opened = openLine({ url });
  await opened.line.whenConnected();
  await failOver();
  await untilMaster(opened, replica);
  expect(opened.states).toEqual(["connected", "suspended", "connected"]);
  expect(opened.notices).toEqual(["master"]);
  expect((await opened.line.run(increment, [freshName("x")], [])).reply).toBe(1);
});

test("channels follow the primary behind a name, so that its scripts find listeners", async () => {
  const { url, replica, failOver } = await service();
  const opened = openLine({ url });
  const channel = freshName("channel");
  await opened.line.subscribe(channel, "plain", () => {}).ready;
  await opened.line.whenConnected();
  await failOver();
  await untilMaster(opened, replica);
  await eventually(
    async () => JSON.stringify(await replica.command("PUBSUB", "NUMSUB", channel)).endsWith(",1]"),
    { what: "the subscription at the new primary", withinMs: 8_000 },
  );
});

test("the connection that waits for replicas follows a primary behind a name too", async () => {
  const { url, replica, failOver } = await service();
  const opened = openLine({ url, replicas: 1, acks: "all" });
  await opened.line.whenConnected();
  await failOver();
  await untilMaster(opened, replica);
  const answer = await eventually(
    async () => {
      const wait = { replicas: 1, timeoutMs: 1_000 };
      const run = await opened.line.run(increment, [freshName("x")], [], { wait });
      return run.acknowledged === 1 && run;
    },
    { what: "a run that the replica has acknowledged", withinMs: 8_000 },
  );
  expect(answer).toMatchObject({ acknowledged: 1, runId: await replica.runId() });
});

test("a given client is dialled again where its reconnectOnError says so of a READONLY", async () => {
  const { host, port, replica, failOver } = await service();
  const reconnectOnError = ({ message }: Error): boolean => message.includes("READONLY");
  const client = new Redis({ ...givenSettings(), host, port, reconnectOnError });
  onTestFinished(() => client.disconnect());
  const opened = openLine({ client });
  await opened.line.whenConnected();
  expect(opened.warnings).toEqual([]);
  await failOver();
  await untilMaster(opened, replica);
});

test("a given client without reconnectOnError keeps its connection, and a warning has said that it will", async () => {
  const { host, port, failOver } = await service();
  const client = new Redis({ ...givenSettings(), host, port });
  onTestFinished(() => client.disconnect());
  const { line, states, warnings } = openLine({ client });
  await line.whenConnected();
  expect(warnings).toMatchObject([{ code: "HF_UNSAFE_OPTION" }]);
  expect(warnings[0]?.message).toContain("reconnectOnError");
  let closed = 0;
  client.on("close", () => closed++);
  await failOver();
  await eventually(() => states.at(-1) === "suspended", { what: "the role to be noticed", withinMs: 8_000 });
  await expect(line.whenConnected({ waitMs: 600 })).rejects.toThrow(/it is a replica/);
  expect(closed).toBe(0);
});
