import { eventually, startRedis, startRedisProxy } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { redisLocks } from "../../src/index.js";
import type { Script } from "../../src/scripts/script.js";
import { freshName, givenSettings, openLine } from "./support.js";

/** The run id that the connection passes to a script, and the one that the server itself reports. */
const identity: Script<{ readonly told: string; readonly real: string }> = {
  name: "identity",
  keyCount: 1,
  runIdAt: 1,
  lua: `return {ARGV[2], string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')}`,
  parse: (raw) => {
    const [told, real] = raw as [string, string];
    return { told, real };
  },
};
const args = ["first", ""];

async function server() {
  const node = await startRedis();
  onTestFinished(async () => {
    await node.stop();
  });
  return node;
}

test("a script gets the run id of the server that executes it, also after the connection leads to another one", async () => {
  const [one, other] = [await server(), await server()];
  const name = await startRedisProxy({ target: one.address });
  onTestFinished(() => name.close());
  const { line } = openLine({ url: `redis://${name.connectString}` });
  for (const node of [one, other]) {
    name.lead(node.address);
    for (const { connection } of name.trace) name.endConnection(connection);
    const runId = await node.runId();
    await eventually(() => line.masterOf("x") === runId, { what: "the server to be known", withinMs: 8_000 });
    const { serverMs = 0, sentMs = 0 } = line.clockAt("x") ?? {};
    // The server read its clock after the question was sent, and before this moment.
    const sinceMs = performance.now() - sentMs;
    const aheadMs = serverMs + sinceMs - Date.now();
    expect(aheadMs).toBeGreaterThan(-1_000);
    expect(aheadMs).toBeLessThan(sinceMs + 1_000);
    const alone = await line.run(identity, [freshName("x")], args);
    expect(alone.reply).toEqual({ told: runId, real: runId });
    const [together] = await Promise.all(line.runAll(identity, [{ keys: [freshName("x")], args }]));
    expect(together).toMatchObject({ reply: { told: runId, real: runId } });
  }
  expect(args).toEqual(["first", ""]);
});

test("for a given client scripts get no run id: it may send a command again, to another server", async () => {
  const node = await server();
  const client = new Redis({ ...givenSettings(), host: node.host, port: node.port });
  onTestFinished(() => client.disconnect());
  const { line } = openLine({ client });
  await line.whenConnected();
  const { reply } = await line.run(identity, [freshName("x")], args);
  expect(reply).toEqual({ told: "", real: await node.runId() });
});

describe.each(["of ours", "of its user"])("by a client that is %s", (whose) => {
  test("a hand-over names the server that writes it", async () => {
    const node = await server();
    const given = () => {
      const client = new Redis({ ...givenSettings(), host: node.host, port: node.port });
      onTestFinished(() => client.disconnect());
      return { client };
    };
    const locks = redisLocks(whose === "of ours" ? { url: node.url } : given());
    const waiter = redisLocks({ url: node.url });
    const ear = new Redis(node.url);
    const heard: string[] = [];
    ear.on("pmessage", (_pattern: string, _channel: string, message: string) => heard.push(message));
    onTestFinished(async () => {
      await Promise.all([locks.close(), waiter.close()]);
      ear.disconnect();
    });
    await ear.psubscribe("holdfast_grant:*");
    const held = await locks.mutex("orders").acquire();
    const waiting = waiter.mutex("orders").acquire();
    await eventually(async () => (await locks.mutex("orders").inspect()).pendingTotal === 1, {
      what: "a waiter",
    });
    await held.release();
    await (await waiting).release();
    await eventually(() => heard.length > 0, { what: "the message" });
    expect(JSON.parse(heard[0] ?? "")).toMatchObject({ type: "granted", run: await node.runId() });
  });
});
