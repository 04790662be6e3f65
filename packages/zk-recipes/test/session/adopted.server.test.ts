import { InvalidArgumentError } from "@holdfast/core";
import {
  eventually,
  expireSession,
  startProxy,
  startZooKeeper,
  startZooKeeperProxy,
  type TcpProxy,
  type ZooKeeperNode,
} from "@holdfast/test-servers";
import { Perms } from "@holdfast/zk-protocol";
import zookeeper, { type Client } from "node-zookeeper-client";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { managerOf } from "../../src/client/library.js";
import { adoptSession } from "../../src/session/open-session.js";
import type { ZooKeeperSession } from "../../src/session/types.js";
import { createRequest, open, outcomeOf, runtime, statesOf } from "./support.js";

let server: ZooKeeperNode;
let proxy: TcpProxy;
let paths = 0;
const freshPath = (): string => {
  paths += 1;
  return `/adopted-${paths}`;
};

beforeAll(async () => {
  server = await startZooKeeper();
});

beforeEach(async () => {
  proxy = await startProxy({ target: server.connectString });
  return () => proxy.close();
});

afterAll(() => server.stop());

function clientOf(connect: string = proxy.connectString): Client {
  const client = zookeeper.createClient(connect, { sessionTimeout: 4_000 });
  onTestFinished(() => {
    const manager = managerOf(client);
    manager.connect = () => {};
    manager.socket?.destroy();
  });
  return client;
}

async function connect(client: Client): Promise<void> {
  const connected = new Promise<void>((resolve) => client.once("connected", resolve));
  client.connect();
  await connected;
}

function adopt(client: Client): ZooKeeperSession {
  const session = adoptSession(client, { runtime });
  onTestFinished(() => session.close());
  return session;
}

/** A connected session over a user's client that was made for it, and an existing node. */
async function adoptedWithNode(): Promise<{ client: Client; session: ZooKeeperSession; path: string }> {
  const path = freshPath();
  const client = clientOf();
  await connect(client);
  const session = adopt(client);
  await session.whenConnected();
  await session.request("create2", createRequest(path));
  return { client, session, path };
}

// biome-ignore lint/suspicious/noExplicitAny: the typings of the library give each callback other arguments
type Done = (error: any) => void;
const promised = (run: (done: Done) => void): Promise<string> =>
  new Promise((resolve) => run((error) => resolve(error ? String(error.name) : "ok")));

describe("a session over a client of the user's", () => {
  test("works on one that is connected, and shares its session id", async () => {
    const client = clientOf();
    await connect(client);
    const session = adopt(client);
    await session.whenConnected();
    expect(session.id).toBe(client.getSessionId().readBigInt64BE());
    expect(session.timeoutMs).toBe(4_000);
    const made = await session.request("create2", createRequest(freshPath(), 1));
    expect(made.stat.ephemeralOwner).toBe(session.id);
    expect(session.leaseUntilMs()).toBeGreaterThan(runtime.nowMs());
  });

  test("is promised nothing before a first answer of its own: the time at which the handshake was sent is not known", async () => {
    const client = clientOf();
    await connect(client);
    const session = adopt(client);
    expect(session.state).toBe("connecting");
    expect(session.leaseUntilMs()).toBe(-Infinity);
    await session.whenConnected();
  });

  test("works on one that connects later, and on one in the midst of it", async () => {
    const later = clientOf();
    const session = adopt(later);
    const midst = clientOf();
    midst.connect();
    const other = adopt(midst);
    await other.whenConnected();
    expect(session.state).toBe("connecting");
    later.connect();
    await session.whenConnected();
    expect((await outcomeOf(session, "exists", { path: "/", watch: false })).ok).toBe(true);
  });

  test("lets the client's own requests, watches and chroot work on beside it", async () => {
    const base = freshPath();
    const admin = open(server.connectString);
    await admin.whenConnected();
    await admin.request("create2", createRequest(base));
    const client = clientOf(`${proxy.connectString}${base}`);
    await connect(client);
    const session = adopt(client);
    await session.whenConnected();
    const { connection } = session;
    const heard: string[] = [];
    expect(await promised((done) => client.create("/mine", done))).toBe("ok");
    await promised((done) =>
      client.getData("/mine", (event) => heard.push(`theirs ${event.getPath()}`), done),
    );
    session.watchData(`${base}/mine`, { answered: () => {}, fired: () => heard.push("ours") });
    const own: Promise<string>[] = [];
    // Requests of both are mixed within one turn: the bytes must leave in the order of the xids.
    for (let number = 0; number < 20; number += 1) {
      session.send("exists", { path: base, watch: false }, () => {});
      own.push(promised((done) => client.exists("/mine", done)));
    }
    expect(new Set(await Promise.all(own))).toEqual(new Set(["ok"]));
    expect(session.connection).toBe(connection);
    await admin.request("setData", { path: `${base}/mine`, data: null, version: -1 });
    await eventually(() => heard.length === 2, { what: "both events" });
    expect([...heard].sort()).toEqual(["ours", "theirs /mine"]);
  });

  test("restores both kinds of watches after a cut, and takes no watch of the client's away", async () => {
    const { client, session, path } = await adoptedWithNode();
    const heard: string[] = [];
    await promised((done) => client.getData(path, () => heard.push("theirs"), done));
    const handle = session.watchData(path, { answered: () => {}, fired: () => heard.push("dropped") });
    session.watchChildren(path, { answered: () => {}, fired: () => heard.push("ours") });
    await session.request("sync", { path: "/" });
    handle.remove();
    await session.request("sync", { path: "/" });
    const states = statesOf(session);
    proxy.resetAll();
    await eventually(() => states.at(-1) === "connected", { what: "the reconnect" });
    await session.request("create2", createRequest(`${path}/child`));
    await session.request("setData", { path, data: null, version: -1 });
    await eventually(() => heard.length === 2, { what: "both events" });
    expect([...heard].sort()).toEqual(["ours", "theirs"]);
  });

  test("takes its own watch back without taking the client's", async () => {
    const { client, session, path } = await adoptedWithNode();
    const heard: string[] = [];
    await promised((done) => client.getData(path, () => heard.push("theirs"), done));
    const handle = session.watchData(path, { answered: () => {}, fired: () => heard.push("ours") });
    await session.request("sync", { path: "/" });
    handle.remove();
    await session.request("setData", { path, data: null, version: -1 });
    expect(heard).toEqual(["theirs"]);
  });

  test("takes its own watch back without taking one that the client is just setting", async () => {
    const { client, session, path } = await adoptedWithNode();
    const handle = session.watchData(path, { answered: () => {}, fired: () => {} });
    await session.request("sync", { path: "/" });
    const heard: string[] = [];
    const read = promised((done) => client.getData(path, () => heard.push("theirs"), done));
    handle.remove();
    await read;
    await session.request("setData", { path, data: null, version: -1 });
    await eventually(() => heard.length > 0, { what: "the client's watch to fire" });
    expect(heard).toEqual(["theirs"]);
  });

  test("never closes the client, and leaves it usable", async () => {
    const client = clientOf();
    await connect(client);
    const session = adoptSession(client, { runtime });
    await session.whenConnected();
    await session.close();
    expect(session.state).toBe("closed");
    expect(client.getState()).toBe(zookeeper.State.SYNC_CONNECTED);
    expect(await promised((done) => client.exists("/", done))).toBe("ok");
    const again = adopt(client);
    await again.whenConnected();
    expect(again.id).toBe(session.id);
  });

  test("is lost when the client is closed, and stays so", async () => {
    const client = clientOf();
    await connect(client);
    const session = adopt(client);
    await session.whenConnected();
    const states = statesOf(session);
    client.close();
    await eventually(() => session.state === "lost", { what: "the loss" });
    expect(states).toEqual(["lost"]);
    expect(() => adoptSession(client, { runtime })).not.toThrow();
  });

  test("is lost when the session expires", async () => {
    const client = clientOf();
    await connect(client);
    const session = adopt(client);
    await session.whenConnected();
    // The library reconnects at once, possibly before the client that took the session over has ended it.
    const password = client.getSessionPassword();
    await proxy.setMode("refuse");
    proxy.resetAll();
    await expireSession({
      connectString: server.connectString,
      sessionId: session.id,
      password,
    });
    await proxy.setMode("ok");
    await eventually(() => session.state === "lost", { what: "the loss" });
    expect(session.lossReason).toBe("expired");
  });

  test.each([
    ["up", false],
    ["down", true],
  ])(
    "leaves no node behind when its own clock ends it with the link %s and the client's session lives on",
    async (_link, down) => {
      const guid = "2f1d5b1e-9a55-4f0e-8f3c-0c5f3d2b7a11";
      const tapped = await startZooKeeperProxy({ target: server.connectString });
      onTestFinished(() => tapped.close());
      const admin = open(server.connectString);
      await admin.whenConnected();
      const client = clientOf(tapped.connectString);
      await connect(client);
      let aheadMs = 0;
      const session = adoptSession(client, {
        runtime: { ...runtime, nowMs: () => performance.now() + aheadMs },
      });
      await session.whenConnected();
      const base = freshPath();
      await session.request("create2", createRequest(base));
      await session.request("create2", createRequest(`${base}/ours`, 1));
      await session.request("create2", createRequest(`${base}/lasting`));
      const mode = zookeeper.CreateMode.EPHEMERAL;
      expect(await promised((done) => client.create(`${base}/theirs`, Buffer.from(""), mode, done))).toBe(
        "ok",
      );
      if (down) {
        tapped.dropReply({ op: "create2", path: new RegExp(guid), thenCut: true });
        await tapped.setMode("refuse");
        const doubtful = await outcomeOf(session, "create2", createRequest(`${base}/_c_${guid}-lock-`, 3));
        expect(doubtful.ok ? null : doubtful.error.name).toBe("OutcomeUnknownError");
      }
      const names = async (): Promise<string[]> =>
        [...(await admin.request("getChildren", { path: base, watch: false })).children].sort();
      expect((await names()).length).toBe(down ? 4 : 3);
      aheadMs = 10_000;
      await eventually(() => session.state === "lost", { what: "the end of the lease" });
      expect(session.lossReason).toBe("lease");
      await tapped.setMode("ok");
      await eventually(async () => (await names()).length === 2, { what: "our nodes to go" });
      expect(await names()).toEqual(["lasting", "theirs"]);
      await session.close();
      expect(client.getState()).toBe(zookeeper.State.SYNC_CONNECTED);
    },
  );

  test("refuses a second session on the same client, and what is no such client", async () => {
    const client = clientOf();
    adopt(client);
    expect(() => adoptSession(client, { runtime })).toThrow(InvalidArgumentError);
    expect(() => adoptSession({} as Client, { runtime })).toThrow(InvalidArgumentError);
    expect(() => adoptSession(null as unknown as Client, { runtime })).toThrow(InvalidArgumentError);
  });
});

describe("what an adopted client does better than before:", () => {
  test("xids start over before they leave 31 bits, where stock fails for good", async () => {
    const bare = clientOf();
    await connect(bare);
    managerOf(bare).xid = 2 ** 31;
    expect(() => bare.exists("/", () => {})).toThrow(RangeError);

    const client = clientOf();
    await connect(client);
    const session = adopt(client);
    await session.whenConnected();
    managerOf(client).xid = 2 ** 31;
    expect((await outcomeOf(session, "exists", { path: "/", watch: false })).ok).toBe(true);
    managerOf(client).xid = 2 ** 31;
    expect(await promised((done) => client.exists("/", done))).toBe("ok");
  });

  /** How the first request after a cut ends, for a node that only its creator may read. */
  async function readsProtected(harden: boolean): Promise<string> {
    const path = freshPath();
    const client = clientOf();
    client.addAuthInfo("digest", Buffer.from("u:p"));
    await connect(client);
    if (harden) await adopt(client).whenConnected();
    const acl = [new zookeeper.ACL(Perms.ALL, new zookeeper.Id("auth", ""))];
    const mode = zookeeper.CreateMode.PERSISTENT;
    await promised((done) => client.create(path, Buffer.from("x"), acl, mode, done));
    const down = new Promise<void>((resolve) => client.once("disconnected", () => resolve()));
    await proxy.setMode("refuse");
    proxy.resetAll();
    await down;
    const read = promised((done) => client.getData(path, done));
    await proxy.setMode("ok");
    return read;
  }

  test("credentials go ahead of requests that waited for the connection", async () => {
    expect(await readsProtected(false)).toBe("NO_AUTH");
    expect(await readsProtected(true)).toBe("ok");
  });

  test("a request that waited when the session ended gets its callback", async () => {
    const client = clientOf();
    await connect(client);
    const session = adopt(client);
    await session.whenConnected();
    const password = client.getSessionPassword();
    await proxy.setMode("refuse");
    proxy.resetAll();
    await eventually(() => session.state === "suspended", { what: "the cut" });
    const waiting = promised((done) => client.exists("/", done));
    await expireSession({ connectString: server.connectString, sessionId: session.id, password });
    await proxy.setMode("ok");
    expect(await waiting).toBe("SESSION_EXPIRED");
  });
});
