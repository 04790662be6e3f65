import { eventually, freePort, type RedisReplicaSet, startRedisReplicaSet } from "@holdfast/test-servers";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { OutcomeUnknownError } from "../../src/client/errors.js";
import { freshName, increment, type OpenLine, openLine, settled } from "./support.js";

let set: RedisReplicaSet;

beforeEach(async () => {
  set = await startRedisReplicaSet();
});
afterEach(() => set.stop());

/**
 * How long the sentinels may take for a failover. When none of them gets enough votes, they try again some six seconds later. On a
 * busy machine that may happen more than once.
 */
const failoverMs = 60_000;

/** When the other sentinels report the same switch, the line may connect to the same master again. A run may fail meanwhile. */
async function untilServed({ line }: OpenLine): Promise<void> {
  await eventually(async () => (await line.run(increment, [freshName("x")], [])).reply === 1, {
    what: "a run at the new master",
  });
}

function open() {
  return openLine({ sentinels: { sentinels: set.sentinelAddresses, name: "holdfast" } });
}

test("follows a killed master: suspended at once, another run id after it", async () => {
  const opened = open();
  const { line, states, notices } = opened;
  const subscription = line.subscribe("told", "plain", () => {});
  await line.whenConnected();
  await subscription.ready;
  const before = line.masterOf("x");
  expect(before).toBe(await (await set.master()).runId());
  await set.killMaster();
  const killedMs = performance.now();
  await eventually(() => states.includes("suspended"), { what: "the outage to show" });
  expect(performance.now() - killedMs).toBeLessThan(5_000);
  const after = await set.untilMaster({ withinMs: failoverMs });
  expect(await after.runId()).not.toBe(before);
  await eventually(async () => line.masterOf("x") === (await after.runId()), { what: "the new master" });
  expect(notices.filter((what) => what !== "subscriptions")[0]).toBe("master");
  await eventually(() => notices.includes("subscriptions"), { what: "the channels to be back" });
  await untilServed(opened);
});

test("leaves a frozen master once another is named", async () => {
  const { line, notices } = open();
  await line.whenConnected();
  const frozen = await set.master();
  const key = freshName("frozen");
  await line.run(increment, [key], []);
  await frozen.pause();
  const { error, tookMs } = await settled(line.run(increment, [key], []));
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(tookMs).toBeLessThan(9_000);
  const next = await set.untilMaster({ not: frozen, withinMs: failoverMs });
  await eventually(async () => line.masterOf("x") === (await next.runId()), {
    what: "the new master",
    withinMs: 12_000,
  });
  expect(notices[0]).toBe("master");
  frozen.resume();
});

test("says nothing of a sentinel that goes", async () => {
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  const { line, states } = open();
  await line.whenConnected();
  const [leaving] = set.sentinels;
  // The sentinel is killed once the line listens to all sentinels.
  await eventually(
    async () => String(await leaving?.command("CLIENT", "LIST", "TYPE", "pubsub")).includes("sub=1"),
    { what: "the connection to the sentinel" },
  );
  await leaving?.kill();
  await expect(line.run(increment, [freshName("x")], [])).resolves.toMatchObject({ reply: 1 });
  expect(states).toEqual(["connected"]);
  expect(printed).not.toHaveBeenCalled();
  printed.mockRestore();
});

test("follows a planned failover", async () => {
  const opened = open();
  const { line, notices } = opened;
  await line.whenConnected();
  const next = await set.failover(failoverMs);
  await eventually(async () => line.masterOf("x") === (await next.runId()), { what: "the new master" });
  await untilServed(opened);
  expect(notices).toContain("master");
});

describe("news of a failover while a sentinel is asked for the master", () => {
  let proxied: RedisReplicaSet;
  beforeEach(async () => {
    proxied = await startRedisReplicaSet({ clientProxies: true });
  });
  afterEach(() => proxied.stop());

  async function newsWhileAsking(opened: OpenLine): Promise<void> {
    const { line } = opened;
    const channel = line.subscribe("told", "plain", () => {});
    await line.whenConnected();
    await channel.ready;
    const before = line.masterOf("x");
    const proxies = proxied.sentinels.map((sentinel) => proxied.proxyOf(sentinel));
    await eventually(() => proxies.every(({ trace }) => trace.some(({ name }) => name === "SUBSCRIBE")), {
      what: "all sentinels to be listened to",
    });
    const held = proxies.map((proxy) => proxy.holdReply({ name: "SENTINEL", times: Infinity }));
    const old = await proxied.killMaster();
    await proxied.untilMaster({ not: old, withinMs: failoverMs });
    for (const rule of held) rule.release();
    await eventually(() => line.state === "connected" && line.masterOf("x") !== before, {
      what: "the new master",
      withinMs: 20_000,
    });
    await channel.ready;
    await untilServed(opened);
  }

  test("does not end a client of ours", () => {
    const { sentinelAddresses: sentinels, name } = proxied;
    return newsWhileAsking(openLine({ sentinels: { sentinels, name } }));
  });

  test("does not end a client that was given", async () => {
    const { sentinelAddresses: sentinels, name } = proxied;
    const client = new Redis({
      sentinels,
      name,
      failoverDetector: true,
      maxRetriesPerRequest: 0,
      sentinelCommandTimeout: 500,
      retryStrategy: () => 100,
    });
    client.on("error", () => {});
    onTestFinished(() => client.disconnect());
    await newsWhileAsking(openLine({ client }));
  });
});

test("leaves a client alone that its owner has closed", async () => {
  const { sentinelAddresses: sentinels, name } = set;
  const client = new Redis({ sentinels, name, maxRetriesPerRequest: 0 });
  const { line } = openLine({ client });
  await line.whenConnected();
  await client.quit();
  await eventually(() => client.status === "end", { what: "its end" });
  const { error } = await settled(line.whenConnected({ waitMs: 600 }));
  expect(error).toBeInstanceOf(Error);
  expect(client.status).toBe("end");
});

test("waits for a failover rather than believe the old master's refusal, but believes that of all sentinels", async () => {
  const master = await set.master();
  await master.kill();
  const { line } = open();
  await line.whenConnected({ waitMs: failoverMs });
  const port = await freePort();
  const lost = openLine({ sentinels: { sentinels: [{ host: "127.0.0.1", port }], name: "holdfast" } });
  const { error, tookMs } = await settled(lost.line.whenConnected());
  expect(String(error)).toContain(`every server refused: connect ECONNREFUSED 127.0.0.1:${port}`);
  expect(tookMs).toBeLessThan(9_000);
});
