import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import {
  eventually,
  expireSession,
  fourLetterWord,
  startEmbeddedZooKeeper,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "../src/index.js";
import { WireClient } from "./support/wire-client.js";

let server: ZooKeeperNode;
let proxy: ZooKeeperProxy;
let client: WireClient;
let direct: WireClient;

beforeAll(async () => {
  server = await startZooKeeper();
});

beforeEach(async () => {
  proxy = await startZooKeeperProxy({ target: server.connectString });
  client = await WireClient.connect(proxy.connectString);
  direct = await WireClient.connect(server.connectString);
  proxy.reset();
});

afterEach(async () => {
  await client.close();
  await direct.close();
  await proxy.close();
});

afterAll(() => server.stop());

function createEphemeral(path: string) {
  return ["create2", { path, data: null, acl: openAcl, flags: CreateFlags.ephemeralSequential }] as const;
}

test("create and list in one write is one flight of two requests", async () => {
  await client.create("/flight");
  proxy.reset();
  const [created, listed] = client.batch(createEphemeral("/flight/x-"), [
    "getChildren",
    { path: "/flight", watch: false },
  ]);
  expect((await created)?.err).toBe(0);
  expect((await listed)?.response).toEqual({ children: ["x-0000000000"] });
  expect(proxy.counts()).toEqual({
    requests: 2,
    flights: 1,
    events: 0,
    byOp: { create2: 1, getChildren: 1 },
  });
  await client.exists("/flight");
  expect(proxy.counts()).toMatchObject({ requests: 3, flights: 2 });
});

test("a lost reply leaves the node at the server and the client without an answer", async () => {
  const rule = proxy.dropReply({ op: "create2", thenCut: true });
  await expect(client.send(...createEphemeral("/lost-"))).rejects.toThrow("connection lost");
  const { created } = await rule.hit();
  expect(created).toMatch(/^\/lost-\d{10}$/);
  expect(await direct.exists(created as string)).toBe(true);
});

test("a reply held until a ping comes with it", async () => {
  const held = proxy.holdReply({ op: "exists", until: "ping" });
  const reply = client.send("exists", { path: "/", watch: false });
  await held.hit();
  expect(held.hits[0]?.fate).toBe("held");
  await client.send("ping", undefined);
  expect((await reply).err).toBe(0);
});

test("events are traced and counted, and dropped on request", async () => {
  await client.send("exists", { path: "/watched", watch: true });
  await direct.create("/watched");
  const event = await proxy.waitFor((entry) => entry.kind === "event");
  expect(event).toMatchObject({ event: "created", path: "/watched" });
  expect(proxy.counts().events).toBe(1);
  await eventually(() => client.events.length === 1, { what: "the event at the client" });
  proxy.dropEvents();
  await client.send("exists", { path: "/watched", watch: true });
  await direct.send("delete", { path: "/watched", version: -1 });
  await proxy.waitFor((entry) => entry.event === "deleted" && entry.fate === "dropped");
  await client.exists("/");
  expect(client.events).toHaveLength(1);
});

test("the session of a client behind the proxy can be ended with what the proxy knows", async () => {
  const session = proxy.sessions.at(-1);
  expect(session?.sessionId).toBe(client.session.sessionId);
  expect(session?.timeoutMs).toBe(5_000);
  if (session === undefined) throw new Error("no session");
  await expireSession({ connectString: server.connectString, ...session });
  await client.closed;
});

test("a fault that ends a session does so at the server that the proxy leads to by then", async () => {
  // The time-outs are so long that the session does not end by itself within this test.
  await using next = await startEmbeddedZooKeeper({
    minSessionTimeoutMs: 120_000,
    maxSessionTimeoutMs: 120_000,
  });
  proxy.lead(next.connectString);
  const moved = await WireClient.connect(proxy.connectString);
  expect(next.sessions()).toHaveLength(1);
  proxy.faults.on({ op: "exists" }, { do: "expire" });
  moved.send("exists", { path: "/", watch: false }).catch(() => {});
  await eventually(() => next.sessions().length === 0, { what: "the session to end" });
  await moved.closed;
});

test("in a hole the session expires at the server while the client still waits", async () => {
  const short = await WireClient.connect(proxy.connectString, { timeoutMs: 1_000 });
  await short.create("/short", CreateFlags.ephemeral);
  await proxy.setMode("hole");
  const unanswered = short.send("ping", undefined);
  await eventually(async () => !(await direct.exists("/short")), { what: "the session to expire" });
  expect(short.ended).toBe(false);
  await proxy.setMode("ok");
  await expect(unanswered).rejects.toThrow("connection lost");
});

test("four-letter words pass through", async () => {
  expect(await fourLetterWord("ruok", { port: proxy.port })).toBe("imok");
});

test("3,000 pipelined requests come through in order", async () => {
  const requests = Array.from(
    { length: 3_000 },
    (_, index) => ["exists", { path: `/n${index}`, watch: false }] as const,
  );
  const replies = await Promise.all(client.batch(...requests));
  expect(replies.map(({ xid }) => xid)).toEqual(requests.map((_, index) => index + 1));
  expect(proxy.counts()).toMatchObject({ requests: 3_000, byOp: { exists: 3_000 } });
  expect(proxy.trace.filter((entry) => entry.kind === "reply").every((entry) => entry.op === "exists")).toBe(
    true,
  );
});
