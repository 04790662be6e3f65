import { eventually, type RedisNode, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { NotSentError, OutcomeUnknownError } from "../../src/client/errors.js";
import { freshName, givenSettings, increment, openLine, settled } from "./support.js";

let server: RedisNode;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("works on a client with ioredis' defaults, with a warning for each, and leaves it open", async () => {
  const client = new Redis(server.port, server.host);
  onTestFinished(() => client.disconnect());
  const { line, warnings } = openLine({ client });
  const subscription = line.subscribe("given", "plain", () => {});
  await line.whenConnected();
  await subscription.ready;
  expect(warnings.map(({ code }) => code)).toEqual(Array.from({ length: 7 }, () => "HF_UNSAFE_OPTION"));
  expect(warnings[0]?.message).toContain("maxRetriesPerRequest");
  expect((await line.run(increment, [freshName("given")], [])).reply).toBe(1);
  await line.close(1_000);
  expect(await client.ping()).toBe("PONG");
  // The connection for subscriptions was ours.
  await eventually(async () => String(await server.command("CLIENT", "LIST", "TYPE", "pubsub")) === "", {
    what: "the duplicate to be closed",
  });
});

test("takes a client that was not connected yet, and one that is ready", async () => {
  const reconnectOnError = ({ message }: Error): boolean => message.startsWith("READONLY");
  const address = { port: server.port, host: server.host };
  const client = new Redis({ ...givenSettings(), ...address, reconnectOnError, lazyConnect: true });
  onTestFinished(() => client.disconnect());
  const first = openLine({ client });
  await first.line.whenConnected();
  expect(first.warnings).toEqual([]);
  const second = openLine({ client });
  await second.line.whenConnected();
  expect(second.line.masterOf("x")).toBe(await server.runId());
});

test("never believes the answer to a command that the client sent twice", async () => {
  const proxy = await startRedisProxy({ target: server.address });
  onTestFinished(() => proxy.close());
  const client = new Redis(proxy.port, proxy.host, { retryStrategy: () => 20 });
  onTestFinished(() => client.disconnect());
  const { line } = openLine({ client });
  await line.whenConnected();
  const key = freshName("twice");
  await line.run(increment, [key], []);
  proxy.dropReply({ name: "EVALSHA" });
  const { error } = await settled(line.run(increment, [key], []));
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  await eventually(async () => (await server.command("GET", key)) === "3", {
    what: "ioredis to have run it a second time",
  });
});

test("notices a frozen server for a client that would not, and returns to it", async () => {
  const frozen = await startRedis();
  onTestFinished(() => frozen.stop());
  const client = new Redis(frozen.port, frozen.host);
  onTestFinished(() => client.disconnect());
  const { line, states, notices } = openLine({ client });
  await line.whenConnected();
  await frozen.pause();
  const { error, tookMs } = await settled(line.run(increment, ["x"], []));
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(tookMs).toBeLessThan(9_000);
  await eventually(() => states.at(-1) === "suspended", {
    what: "the silence to be noticed",
    withinMs: 20_000,
  });
  frozen.resume();
  await line.whenConnected();
  expect(notices).toEqual(["commands"]);
});

test("writes nothing in another database that is selected on the client, and goes on when the first one is selected again", async () => {
  const client = new Redis(server.port, server.host);
  onTestFinished(() => client.disconnect());
  const { line, states } = openLine({ client });
  await line.whenConnected();
  const key = freshName("selected");
  // All are written in one turn: the first run before SELECT, the second run after it.
  const before = line.run(increment, [key], []);
  const selected = client.select(1);
  const refused = expect(line.run(increment, [key], [])).rejects.toBeInstanceOf(NotSentError);
  expect((await before).reply).toBe(1);
  await refused;
  await selected;
  const { error } = await settled(line.whenConnected({ waitMs: 2_000 }));
  expect(String(error)).toContain("selected database 1, and its locks are in 0; select 0 again");
  await server.killClients("normal");
  await eventually(() => client.status === "ready", { what: "the client to connect again" });
  await expect(line.run(increment, [key], [])).rejects.toBeInstanceOf(NotSentError);
  await client.select(0);
  await line.whenConnected();
  expect((await line.run(increment, [key], [])).reply).toBe(2);
  expect(states).toEqual(["connected", "suspended", "connected"]);
});

test("says of a closed client that it is closed", async () => {
  const client = new Redis(server.port, server.host);
  await client.ping();
  client.disconnect();
  await eventually(() => client.status === "end", { what: "the end" });
  const { line } = openLine({ client });
  const { error, tookMs } = await settled(line.whenConnected());
  expect(String(error)).toContain("the given client was closed");
  expect(tookMs).toBeLessThan(9_000);
});
