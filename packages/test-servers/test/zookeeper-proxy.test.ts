import { CreateFlags, openAcl } from "@holdfast/zk-protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually, startZooKeeperProxy, type ZooKeeperProxy } from "../src/index.js";
import { PlainClient, startEchoServer } from "./support/echo-server.js";
import { ScriptedConnection, ScriptedServer } from "./support/scripted-server.js";
import { WireClient } from "./support/wire-client.js";

let server: ScriptedServer;
let proxy: ZooKeeperProxy;
let client: WireClient;

beforeEach(async () => {
  server = await ScriptedServer.start();
  proxy = await startZooKeeperProxy({ target: server.connectString });
  client = await WireClient.connect(proxy.connectString);
  proxy.reset();
});

afterEach(async () => {
  await client.close();
  await proxy.close();
  await server.close();
});

const create = (path: string) =>
  ["create", { path, data: null, acl: openAcl, flags: CreateFlags.ephemeralSequential }] as const;
const exists = (path: string) => ["exists", { path, watch: false }] as const;
const noNode = -101;
const stat = {
  czxid: 1n,
  mzxid: 1n,
  ctime: 0n,
  mtime: 0n,
  version: 0,
  cversion: 0,
  aversion: 0,
  ephemeralOwner: 0n,
  dataLength: 0,
  numChildren: 0,
  pzxid: 1n,
};

/** Whether a promise has settled by now. Tasks of this process that already wait run first. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  let done = false;
  promise.then(
    () => {
      done = true;
    },
    () => {
      done = true;
    },
  );
  // After a round trip over another connection through the same proxy, everything that was on its way has arrived.
  const other = await WireClient.connect(proxy.connectString);
  await other.close();
  return done;
}

test("requests written together are one flight", async () => {
  const replies = client.batch(create("/a-"), exists("/b"), exists("/c"));
  await server.last.heard(3);
  expect(proxy.counts()).toEqual({ requests: 3, flights: 1, events: 0, byOp: { create: 1, exists: 2 } });
  server.last.reply("create", 1, { path: "/a-0000000000" });
  server.last.fail(2, noNode);
  server.last.fail(3, noNode);
  await Promise.all(replies);
  expect(proxy.counts().flights).toBe(1);
});

test("requests sent one by one before any answer are one flight, too", async () => {
  client.send(...exists("/a"));
  await server.last.heard(1);
  client.send(...exists("/b"));
  await server.last.heard(2);
  expect(proxy.counts().flights).toBe(1);
});

test("a request after an answer opens a flight, even while another is outstanding", async () => {
  const first = client.send(...exists("/a"));
  const second = client.send(...exists("/b"));
  await server.last.heard(2);
  server.last.fail(1, noNode);
  await first;
  client.send(...exists("/c"));
  client.send(...exists("/d"));
  await server.last.heard(4);
  expect(proxy.counts().flights).toBe(2);
  expect(proxy.trace.filter((entry) => entry.kind === "request").map((entry) => entry.flight)).toEqual([
    1, 1, 2, 2,
  ]);
  server.last.fail(2, noNode);
  await second;
  client.send(...exists("/e"));
  await server.last.heard(5);
  expect(proxy.counts().flights).toBe(3);
});

test("an answer that is held or dropped opens no flight", async () => {
  proxy.dropReply({ op: "exists" });
  const held = proxy.holdReply({ op: "getData" });
  client.send(...exists("/a"));
  client.send("getData", { path: "/b", watch: false });
  await server.last.heard(2);
  server.last.fail(1, noNode);
  server.last.fail(2, noNode);
  await held.hit();
  client.send(...exists("/c"));
  await server.last.heard(3);
  expect(proxy.counts().flights).toBe(1);
  held.release();
  await proxy.waitFor(
    (entry) => entry.op === "getData" && entry.fate === "forwarded" && entry.kind === "reply",
  );
  client.send(...exists("/d"));
  await server.last.heard(4);
  expect(proxy.counts().flights).toBe(2);
});

test("an answer swallowed by a hole opens no flight", async () => {
  client.send(...exists("/a"));
  await server.last.heard(1);
  await proxy.setMode("hole-down");
  server.last.fail(1, noNode);
  const reply = await proxy.waitFor((entry) => entry.kind === "reply");
  expect(reply.fate).toBe("dropped");
  client.send(...exists("/b"));
  await server.last.heard(2);
  expect(proxy.counts().flights).toBe(1);
});

test("connections are counted apart and added up", async () => {
  const other = await WireClient.connect(proxy.connectString);
  client.send(...exists("/a"));
  other.send(...exists("/b"));
  await proxy.waitFor((entry) => entry.path === "/b");
  await proxy.waitFor((entry) => entry.path === "/a");
  expect(proxy.counts()).toMatchObject({ requests: 2, flights: 2, byOp: { connect: 1, exists: 2 } });
  await other.close();
});

test("pings and syncs are counted by name and are no part of a budget, unless asked for", async () => {
  client.send("ping", undefined);
  client.send("sync", { path: "/" });
  client.send(...exists("/a"));
  await server.last.heard(3);
  expect(proxy.counts()).toEqual({
    requests: 1,
    flights: 1,
    events: 0,
    byOp: { ping: 1, sync: 1, exists: 1 },
  });

  proxy.reset({ ignore: (entry) => entry.op === "ping" || (entry.op === "sync" && entry.path === "/") });
  client.send("sync", { path: "/" });
  client.send("sync", { path: "/lock" });
  await server.last.heard(5);
  expect(proxy.counts()).toEqual({ requests: 1, flights: 1, events: 0, byOp: { sync: 2 } });
});

test("reset forgets what is under way: its answer opens no flight", async () => {
  const before = client.send(...exists("/a"));
  await server.last.heard(1);
  proxy.reset();
  client.send(...exists("/b"));
  await server.last.heard(2);
  server.last.fail(1, noNode);
  await before;
  client.send(...exists("/c"));
  await server.last.heard(3);
  expect(proxy.counts()).toMatchObject({ requests: 2, flights: 1 });
});

test("the trace names handshakes, requests, replies and events", async () => {
  const other = await WireClient.connect(proxy.connectString);
  const reply = other.send(...create("/lock/x-"));
  await server.last.heard(1);
  server.last.event({ type: "children-changed", path: "/lock" });
  server.last.reply("create", 1, { path: "/lock/x-0000000007" });
  await reply;
  const failed = other.send(...exists("/gone"));
  await server.last.heard(2);
  server.last.fail(2, noNode);
  await failed;
  expect(proxy.trace.map(({ at, bytes, zxid, ...entry }) => entry)).toEqual([
    { connection: 2, direction: "up", kind: "request", xid: 0, op: "connect", fate: "forwarded" },
    { connection: 2, direction: "down", kind: "reply", xid: 0, op: "connect", err: 0, fate: "forwarded" },
    {
      connection: 2,
      direction: "up",
      kind: "request",
      xid: 1,
      op: "create",
      path: "/lock/x-",
      flight: 1,
      fate: "forwarded",
    },
    {
      connection: 2,
      direction: "down",
      kind: "event",
      xid: -1,
      op: "event",
      event: "children-changed",
      path: "/lock",
      fate: "forwarded",
    },
    {
      connection: 2,
      direction: "down",
      kind: "reply",
      xid: 1,
      op: "create",
      path: "/lock/x-",
      created: "/lock/x-0000000007",
      err: 0,
      fate: "forwarded",
    },
    {
      connection: 2,
      direction: "up",
      kind: "request",
      xid: 2,
      op: "exists",
      path: "/gone",
      flight: 2,
      fate: "forwarded",
    },
    {
      connection: 2,
      direction: "down",
      kind: "reply",
      xid: 2,
      op: "exists",
      path: "/gone",
      err: noNode,
      fate: "forwarded",
    },
  ]);
  expect(proxy.sessions.map(({ connection, sessionId }) => [connection, sessionId])).toEqual([
    [1, 0x100_0000_0000_0001n],
    [2, 0x100_0000_0000_0001n],
  ]);
  await other.close();
});

test("frames that arrive byte by byte are read once and passed on whole", async () => {
  const reply = client.send("getChildren", { path: "/a", watch: false });
  await server.last.heard(1);
  for (const byte of ScriptedConnection.replyFrame("getChildren", 1, { children: ["a", "b"] })) {
    server.last.socket.write(Buffer.of(byte));
    await new Promise(setImmediate);
  }
  await expect(reply).resolves.toMatchObject({ xid: 1, response: { children: ["a", "b"] } });
  expect(proxy.trace.filter((entry) => entry.kind === "reply")).toHaveLength(1);
});

test("a held reply holds what is behind it, and release lets all go in order", async () => {
  const held = proxy.holdReply({ op: "create" });
  const [first, second] = client.batch(create("/a-"), exists("/b")) as [Promise<unknown>, Promise<unknown>];
  await server.last.heard(2);
  server.last.reply("create", 1, { path: "/a-0000000000" });
  server.last.event({ type: "deleted", path: "/b" });
  server.last.fail(2, noNode);
  expect((await held.hit()).fate).toBe("held");
  expect(await settled(Promise.race([first, second]))).toBe(false);
  expect(client.events).toEqual([]);
  held.release();
  await Promise.all([first, second]);
  expect(client.events).toHaveLength(1);
  expect(held.hits[0]?.fate).toBe("forwarded");
});

test("a reply held until the next ping comes with that ping and not before", async () => {
  const held = proxy.holdReply({ op: "create", until: "ping" });
  client.send("ping", undefined);
  const reply = client.send(...create("/a-"));
  await server.last.heard(2);
  server.last.reply("create", 2 - 1, { path: "/a-0000000000" });
  await held.hit();
  expect(await settled(reply)).toBe(false);
  client.send("ping", undefined);
  await reply;
});

test("a reply held until a promise comes when that settles", async () => {
  let settle = (): void => {};
  const held = proxy.holdReply({
    op: "exists",
    until: new Promise<void>((resolve) => {
      settle = resolve;
    }),
  });
  const reply = client.send(...exists("/a"));
  await server.last.heard(1);
  server.last.fail(1, noNode);
  await held.hit();
  expect(await settled(reply)).toBe(false);
  settle();
  await reply;
});

test("nth and times choose which frames a rule takes; path and connection narrow it", async () => {
  const rule = proxy.dropReply({ op: "exists", path: /^\/lock\//g, connection: 1, nth: 2, times: 2 });
  const paths = ["/lock/1", "/other", "/lock/2", "/lock/3", "/lock/4"];
  const replies = client.batch(...paths.map((path) => exists(path)));
  await server.last.heard(5);
  for (let xid = 1; xid <= 5; xid++) server.last.fail(xid, noNode);
  await replies[4];
  expect(rule.hits.map((entry) => entry.path)).toEqual(["/lock/2", "/lock/3"]);
  expect(rule.over).toBe(true);
  expect(await settled(replies[2] as Promise<unknown>)).toBe(false);
  await Promise.all([replies[0], replies[1]]);
});

test("a reply dropped with thenCut leaves the client with a lost connection, after what came before", async () => {
  proxy.dropReply({ op: "create", thenCut: true });
  const [before, lost] = client.batch(exists("/a"), create("/b-")) as [Promise<unknown>, Promise<unknown>];
  await server.last.heard(2);
  server.last.socket.write(
    Buffer.concat([
      ScriptedConnection.replyFrame("exists", 1, { stat }),
      ScriptedConnection.replyFrame("create", 2, { path: "/b-0000000000" }),
    ]),
  );
  await expect(before).resolves.toMatchObject({ err: 0 });
  await expect(lost).rejects.toThrow("connection lost");
  client = await WireClient.connect(proxy.connectString);
});

test("a reply dropped with thenSilence is the last the client hears; the server goes on hearing", async () => {
  proxy.dropReply({ op: "exists", thenSilence: true });
  const first = client.send(...exists("/a"));
  await server.last.heard(1);
  server.last.fail(1, noNode);
  const second = client.send(...exists("/b"));
  await server.last.heard(2);
  server.last.fail(2, noNode);
  expect(await settled(Promise.race([first, second]))).toBe(false);
  expect(client.ended).toBe(false);
});

test("a held request reaches the server on release, a dropped one never", async () => {
  const held = proxy.holdRequest({ op: "getData" });
  proxy.dropRequest({ op: "create" });
  client.send(...create("/never-"));
  client.send("getData", { path: "/late", watch: true });
  client.send(...exists("/behind"));
  await held.hit();
  expect(server.last.requests).toEqual([]);
  const scripted = server.last;
  held.release();
  await scripted.heard(2);
  expect(scripted.requests.map(({ op }) => op)).toEqual(["getData", "exists"]);
});

test("held events hold replies behind them; alone, replies overtake them; dropped, they never come", async () => {
  const scripted = server.last;
  const held = proxy.holdEvents({ path: "/a", type: "deleted" });
  scripted.event({ type: "data-changed", path: "/a" });
  scripted.event({ type: "deleted", path: "/a" });
  const behind = client.send(...exists("/x"));
  await scripted.heard(1);
  scripted.fail(1, noNode);
  await held.hit();
  expect(await settled(behind)).toBe(false);
  held.release();
  await behind;
  expect(client.events.map(({ type }) => type)).toEqual(["data-changed", "deleted"]);

  const alone = proxy.holdEvents({ path: "/b", alone: true });
  const dropped = proxy.dropEvents({ path: "/c" });
  scripted.event({ type: "deleted", path: "/b" });
  scripted.event({ type: "deleted", path: "/c" });
  const overtaking = client.send(...exists("/x"));
  await scripted.heard(2);
  scripted.fail(2, noNode);
  await overtaking;
  expect(client.events).toHaveLength(2);
  alone.release();
  await eventually(() => client.events.length === 3, { what: "the event that was held alone" });
  expect(dropped.hits).toHaveLength(1);
  expect(client.events.map(({ path }) => path)).toEqual(["/a", "/a", "/b"]);
});

test("a handshake can be held or dropped like a reply", async () => {
  const rule = proxy.holdReply({ op: "connect" });
  const connecting = WireClient.connect(proxy.connectString);
  await rule.hit();
  rule.release();
  await (await connecting).close();
});

test("the end of a connection comes behind what is held", async () => {
  const held = proxy.holdReply({ op: "exists" });
  const reply = client.send(...exists("/a"));
  await server.last.heard(1);
  server.last.fail(1, noNode);
  server.last.socket.end();
  await held.hit();
  expect(await settled(client.closed)).toBe(false);
  held.release();
  await reply;
  await client.closed;
});

test("clearRules lets everything go and ends all rules", async () => {
  const held = proxy.holdReply({ op: "exists", times: Number.POSITIVE_INFINITY });
  const first = client.send(...exists("/a"));
  await server.last.heard(1);
  server.last.fail(1, noNode);
  await held.hit();
  proxy.clearRules();
  await first;
  const second = client.send(...exists("/b"));
  await server.last.heard(2);
  server.last.fail(2, noNode);
  await second;
  expect(held.hits).toHaveLength(1);
});

test("a frame can be cut in its middle", async () => {
  const reply = client.send(...exists("/a"));
  await server.last.heard(1);
  const cut = proxy.cutAfter(10, "down");
  server.last.fail(1, noNode);
  await cut;
  await expect(reply).rejects.toThrow("connection lost");
});

test("four-letter words and other bytes that are no frames pass through untouched", async () => {
  const echo = await startEchoServer();
  const through = await startZooKeeperProxy({ target: { host: "127.0.0.1", port: echo.port } });
  const talker = await PlainClient.connect(through.port);
  talker.socket.write("ruok");
  await talker.receives("ruok");
  talker.socket.write("\u0000 and on");
  await talker.receives("ruok\u0000 and on");
  expect(through.trace).toEqual([]);
  talker.socket.destroy();
  await through.close();
  await echo.close();
});

test("the trace is bounded and counts are not", async () => {
  const small = await startZooKeeperProxy({ target: server.connectString, traceLimit: 10 });
  const busy = await WireClient.connect(small.connectString);
  busy.batch(...Array.from({ length: 100 }, (_, index) => exists(`/n${index}`)));
  await server.last.heard(100);
  expect(small.counts()).toMatchObject({ requests: 100, flights: 1 });
  expect(small.trace.length).toBeLessThanOrEqual(10);
  expect(small.trace.at(-1)?.path).toBe("/n99");
  await busy.close();
  await small.close();
});

test("a wait for a frame sees what became of the frame, not what might have", async () => {
  const held = proxy.holdReply({ op: "exists" });
  const passed = proxy.waitFor((entry) => entry.kind === "reply" && entry.fate === "forwarded");
  const kept = proxy.waitFor((entry) => entry.kind === "reply" && entry.fate === "held");
  const replies = client.batch(exists("/held"), exists("/behind"));
  await server.last.heard(2);
  server.last.fail(1, noNode);
  expect((await kept).path).toBe("/held");
  held.release();
  expect((await passed).path).toBe("/held");
  server.last.fail(2, noNode);
  await Promise.all(replies);

  await proxy.setMode("hole-down");
  const dropped = proxy.waitFor((entry) => entry.path === "/hole" && entry.kind === "reply");
  client.send(...exists("/hole"));
  await server.last.heard(3);
  server.last.fail(3, noNode);
  expect((await dropped).fate).toBe("dropped");
});

test("waiting for a frame or a rule ends with what was waited for and what came instead", async () => {
  client.send(...exists("/a"));
  await server.last.heard(1);
  const waiting = proxy.waitFor((entry) => entry.path === "/b", { withinMs: 30, what: "a look at /b" });
  await expect(waiting).rejects.toThrow(
    /waited 30 ms for a look at \/b; last frames:\n#1 up request xid 1 exists \/a/,
  );
  await expect(proxy.holdReply({ op: "create" }).hit({ withinMs: 30 })).rejects.toThrow(
    /no frame to hold within 30 ms/,
  );
  const released = proxy.holdReply({ op: "create" });
  const never = released.hit();
  released.release();
  await expect(never).rejects.toThrow(/released before there was a frame to hold/);
  expect(() => proxy.holdReply({ nth: 0 })).toThrow("nth is 1 or more");
});
