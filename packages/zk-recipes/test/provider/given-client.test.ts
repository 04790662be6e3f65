import { type Runtime, systemRuntime } from "@holdfast/core";
import {
  type EmbeddedZooKeeper,
  type EmbeddedZooKeeperOptions,
  eventually,
  startEmbeddedZooKeeper,
} from "@holdfast/test-servers";
import zookeeper, { type Client } from "node-zookeeper-client";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ManagerState, managerOf } from "../../src/client/library.js";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "../../src/index.js";

async function startServer(options: EmbeddedZooKeeperOptions = {}): Promise<EmbeddedZooKeeper> {
  const server = await startEmbeddedZooKeeper(options);
  onTestFinished(() => server.stop());
  return server;
}

function locksOf(options: ZooKeeperLocksOptions): ZooKeeperLocks {
  const locks = zookeeperLocks({ connectTimeoutMs: 5_000, ...options });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  return locks;
}

function clientOf(connect: string, sessionTimeout = 6_000): Client {
  const client = zookeeper.createClient(connect, { sessionTimeout });
  onTestFinished(() => client.close());
  client.connect();
  return client;
}

function sessionOf(client: Client): bigint {
  return client.getSessionId().readBigInt64BE();
}

/** Sets a watch of the client's owner on an existing node. Counts how often it fires. */
async function watchOwn(client: Client, path: string): Promise<{ fired: number }> {
  const heard = { fired: 0 };
  await new Promise<void>((resolve, reject) => {
    client.getData(
      path,
      () => {
        heard.fired += 1;
      },
      (error) => (error ? reject(error) : resolve()),
    );
  });
  return heard;
}

/** Waits for the next connection after the present one is cut. */
async function reconnect(server: EmbeddedZooKeeper, client: Client): Promise<void> {
  const again = new Promise<void>((resolve) => client.once("connected", resolve));
  server.dropConnection(sessionOf(client));
  await again;
}

describe("a watch of a given client's owner is heard after a reconnect", () => {
  test("once the provider was closed", async () => {
    const server = await startServer();
    server.operator.create("/watched");
    const client = clientOf(server.connectString);
    const locks = locksOf({ client });
    await locks.ready();
    const heard = await watchOwn(client, "/watched");
    await locks.close();
    await reconnect(server, client);
    server.operator.setData("/watched", null);
    await eventually(() => heard.fired === 1, { what: "the event" });
  });

  test("with what happened during the outage, once the provider was closed", async () => {
    const server = await startServer();
    server.operator.create("/watched");
    const client = clientOf(server.connectString);
    const locks = locksOf({ client });
    await locks.ready();
    const heard = await watchOwn(client, "/watched");
    await locks.close();
    await server.restart({ whileDown: () => void server.operator.setData("/watched", null) });
    await eventually(() => heard.fired === 1, { what: "the event" });
  });

  test("once our lease ran out and the client got back in time", async () => {
    const server = await startServer({ tickTimeMs: 200 });
    server.operator.create("/watched");
    const client = clientOf(server.connectString, 1_000);
    const locks = locksOf({ client });
    await locks.ready();
    const heard = await watchOwn(client, "/watched");
    const states: string[] = [];
    locks.events.on("session-state", ({ state }) => states.push(state));
    const contact: string[] = [];
    for (const event of ["disconnected", "connected"] as const) client.on(event, () => contact.push(event));
    server.pause({ clock: "frozen" });
    await eventually(() => states.includes("lost"), { what: "the lease to run out" });
    await eventually(() => contact.includes("disconnected"), { what: "the client to drop its connection" });
    server.resume();
    await eventually(() => contact.at(-1) === "connected", { what: "the client to be back" });
    server.operator.setData("/watched", null);
    await eventually(() => heard.fired === 1, { what: "the event" });
  });
});

describe("nodes of a given client's session whose creates lost their answers, once our lease is over", () => {
  /** Our lease runs out while the client is cut off. Then the client gets its session back. */
  async function leaveInDoubt(server: EmbeddedZooKeeper): Promise<void> {
    let aheadMs = 0;
    const runtime: Runtime = { ...systemRuntime, nowMs: () => systemRuntime.nowMs() + aheadMs };
    const locks = locksOf({ client: clientOf(server.connectString), runtime });
    await locks.ready();
    server.operator.create("/queue");
    server.faults.on({ op: "create2", path: /lock-$/ }, { do: "no-reply" });
    const cut = server.faults.on({ op: "create2", path: "/naive" }, { do: "close", when: "applied" });
    const refused = server.faults.refuseConnections();
    const acquires = [locks.mutex("/queue").acquire(), locks.naiveMutex("/naive").acquire()];
    const settled = Promise.allSettled(acquires);
    await cut.reached();
    aheadMs = 20_000;
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(server.sessions().map(({ ephemerals }) => ephemerals.length)).toEqual([2]);
    refused.release();
  }

  test.each(["3.5", "3.8"] as const)("are found and deleted on a server like %s", async (compat) => {
    const server = await startServer({ compat });
    await leaveInDoubt(server);
    await eventually(() => server.sessions().every(({ ephemerals }) => ephemerals.length === 0), {
      what: "no node of ours",
      detail: () => server.describe(),
    });
    expect(server.sessions()).toHaveLength(1);
  });

  test("are looked for again, and deleted again, when the server is too busy", async () => {
    const server = await startServer();
    const busy = ["sync", "getChildren", "exists", "delete"].map((op) =>
      server.faults.on(
        { op: op as "sync", path: op === "sync" ? "/" : /queue|naive/ },
        { do: "answer", err: "ThrottledOp" },
      ),
    );
    await leaveInDoubt(server);
    await eventually(() => server.sessions().every(({ ephemerals }) => ephemerals.length === 0), {
      what: "no node of ours",
      detail: () => server.describe(),
    });
    expect(busy.map(({ hits }) => hits.length)).toEqual([1, 1, 1, 1]);
  });

  test("are not taken for gone by a server that could not do the sync before the look", async () => {
    const server = await startServer();
    server.faults.on({ op: "sync", path: "/" }, { do: "answer", err: "ThrottledOp" });
    const lagging = server.faults.on({ op: "exists", path: "/naive" }, { do: "answer", err: "NoNode" });
    await leaveInDoubt(server);
    await eventually(() => server.sessions().every(({ ephemerals }) => ephemerals.length === 0), {
      what: "no node of ours",
      detail: () => server.describe(),
    });
    expect(lagging.hits).toHaveLength(1);
  });
});

describe("a provider over a given client that is closed", () => {
  test("leaves the node of another holder, also where the name of the lock has a UUID in it", async () => {
    const server = await startServer();
    const path = "/naive/2f1d5b1e-9a55-4f0e-8f3c-0c5f3d2b7a11";
    const theirs = await locksOf({ connect: server.connectString }).naiveMutex(path).acquire();
    const ours = locksOf({ client: clientOf(server.connectString) });
    await ours.ready();
    const cut = server.faults.on({ op: "create2", path }, { do: "close", when: "applied" });
    expect(await ours.naiveMutex(path).tryAcquire()).toBeNull();
    expect(cut.hits).toHaveLength(1);
    await ours.close();
    await theirs.confirm();
    expect(theirs.state).toBe("held");
  });

  test("while its client is away deletes its nodes as soon as the client is back", async () => {
    const server = await startServer();
    const client = clientOf(server.connectString, 20_000);
    const locks = locksOf({ client });
    await locks.mutex("/queue").acquire();
    const refused = server.faults.refuseConnections();
    server.dropConnection(sessionOf(client));
    await locks.close({ releaseTimeoutMs: 100 });
    expect(server.sessions().map(({ ephemerals }) => ephemerals.length)).toEqual([1]);
    refused.release();
    await eventually(() => server.sessions().every(({ ephemerals }) => ephemerals.length === 0), {
      what: "no node of ours",
      detail: () => server.describe(),
    });
    expect(server.sessions().map(({ id }) => id)).toEqual([sessionOf(client)]);
  });
});

describe("a given client that was connected, while the proof of its adoption has no answer yet,", () => {
  /** The server holds the proof back until `release()`, and grants sessions of 10 s. */
  async function adopted(server: EmbeddedZooKeeper) {
    const client = clientOf(server.connectString, 20_000);
    await new Promise<void>((resolve) => client.once("connected", resolve));
    await new Promise<void>((resolve, reject) => {
      client.create("/own", null as never, zookeeper.CreateMode.EPHEMERAL, (error) =>
        error ? reject(error) : resolve(),
      );
    });
    const proof = server.faults.on({ op: "sync" }, { do: "hold" });
    const locks = locksOf({ client });
    await proof.reached();
    return { client, locks, proof };
  }

  test("is closed at the server when its owner closes it", async () => {
    const server = await startServer();
    const { client, proof } = await adopted(server);
    client.close();
    proof.release();
    await eventually(() => server.operator.exists("/own") === null, {
      withinMs: 5_000,
      what: "the end of the session",
    });
    expect(server.sessions()).toEqual([]);
  });

  test("keeps its connection, with its owner's requests, when the provider is closed", async () => {
    const server = await startServer();
    const { client, locks, proof } = await adopted(server);
    const answer = new Promise<unknown>((resolve) => client.exists("/own", (error) => resolve(error)));
    await locks.close();
    proof.release();
    expect(await answer).toBeNull();
    expect(server.sessions().map(({ id }) => id)).toEqual([sessionOf(client)]);
  });
});

test("a given client that one copy of this package has adopted is refused by another copy, also after close()", async () => {
  const server = await startServer();
  const client = clientOf(server.connectString);
  const locks = locksOf({ client });
  await locks.ready();
  vi.resetModules();
  const copy = await import("../../src/index.js");
  expect(copy.zookeeperLocks).not.toBe(zookeeperLocks);
  const refused = /in use by another copy of @holdfast\/zk-recipes/;
  expect(() => copy.zookeeperLocks({ client })).toThrow(refused);
  await (await locks.mutex("/queue").acquire()).release();
  await locks.close();
  expect(() => copy.zookeeperLocks({ client })).toThrow(refused);
  await locksOf({ client }).ready();
});

describe("the dials of a given client", () => {
  test("come ever less often in an outage, as slowly as its owner wished in the end, and so again after close()", async () => {
    const server = await startServer();
    const client = clientOf(server.connectString);
    const manager = managerOf(client);
    const locks = locksOf({ client });
    await locks.ready();
    const before = manager.spinDelay;
    const pauses: number[] = [];
    manager.on("state", (state: number) => {
      if (state === ManagerState.connecting) pauses.push(manager.spinDelay);
    });
    const refused = server.faults.refuseConnections();
    server.dropConnection(sessionOf(client));
    await eventually(() => pauses.at(-1) === 1_000, {
      what: "the longest pause",
      detail: () => pauses.join(", "),
    });
    expect(before).toBe(50);
    expect([...new Set(pauses)]).toEqual([50, 100, 200, 400, 800, 1_000]);
    refused.release();
    await eventually(() => manager.spinDelay === 50, { what: "short pauses after a connection that serves" });
    await locks.close();
    expect(manager.spinDelay).toBe(1_000);
  });
});

describe("a given client with a chroot", () => {
  test("excludes those who connect with the same chroot, on the same nodes", async () => {
    const server = await startServer();
    server.operator.create("/app");
    const connect = `${server.connectString}/app`;
    const byClient = locksOf({ client: clientOf(connect) });
    const byString = locksOf({ connect });
    const handle = await byClient.mutex("orders").acquire();
    expect(server.operator.getChildren("/")).not.toContain("holdfast");
    expect(await byString.mutex("orders").tryAcquire()).toBeNull();
    const { held } = await byString.mutex("orders").inspect();
    expect(held.map(({ token }) => token)).toEqual([handle.token]);
    await handle.release();
    await using second = await byString.mutex("/absolute").acquire();
    expect(second.state).toBe("held");
    expect(await byClient.mutex("/absolute").tryAcquire()).toBeNull();
  });

  test("is refused by name when the chroot does not exist, and makes nothing", async () => {
    const server = await startServer();
    const client = clientOf(`${server.connectString}/missing`);
    const locks = locksOf({ client });
    await expect(locks.mutex("orders").acquire()).rejects.toThrow("the chroot /missing does not exist");
    expect(server.operator.getChildren("/")).toEqual(["zookeeper"]);
  });
});
