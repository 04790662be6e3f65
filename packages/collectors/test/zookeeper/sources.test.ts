import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { systemRuntime } from "@holdfast/core";
import {
  type EmbeddedZooKeeper,
  eventually,
  freePort,
  startEmbeddedZooKeeper,
  startProxy,
} from "@holdfast/test-servers";
import { CreateFlags } from "@holdfast/zk-protocol";
import { openSession, parseConnectString } from "@holdfast/zk-recipes/internal";
import { describe, expect, it, onTestFinished } from "vitest";
import { standstill } from "../../../../e2e/support/standstill.js";
import { usualSessionTimeoutMs } from "../../src/zookeeper/options.js";
import { ours, Watched } from "./support.js";

type Options = Parameters<typeof startEmbeddedZooKeeper>[0];

async function start(options: Options = {}): Promise<EmbeddedZooKeeper> {
  const server = await startEmbeddedZooKeeper(options);
  onTestFinished(() => server.stop());
  return server;
}

async function watch(server: EmbeddedZooKeeper, options: object = {}): Promise<Watched> {
  const watched = new Watched({ connect: server.connectString, roots: ["/locks"], ...options });
  onTestFinished(() => watched[Symbol.asyncDispose]());
  return watched;
}

async function provider(server: EmbeddedZooKeeper): Promise<Awaited<ReturnType<typeof ours>>> {
  const locks = await ours(server.connectString, true);
  onTestFinished(async () => void (await locks.close()));
  return locks;
}

describe("the sources of a collector, and what it does without them", () => {
  it.each(["3.4", "3.5"] as const)(
    "asks a server of release %s again and again, attended locks twice a second",
    async (compat) => {
      const server = await start({ compat });
      server.operator.create("/locks");
      server.operator.create("/locks/a");
      server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
      const watched = await watch(server);
      await watched.synced();
      expect(watched.collector.sources()[0]?.message).toMatch(/older than 3\.6/);
      expect(watched.collector.get("/locks/a")).toMatchObject({ state: "held" });
      const looking = watched.collector.attend(["/locks/a"]);
      server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
      const row = await watched.row("/locks/a", ({ state }) => state === "contended");
      expect(row.oldestHold.provenance).toBe("at-least");
      looking.end();
    },
  );

  it("reports each walk, and each reading anew with its reason", async () => {
    const server = await start();
    server.operator.create("/locks");
    const watched = await watch(server);
    await watched.synced();
    const told = () => watched.events.filter(({ type }) => type === "pass" || type === "resync");
    expect(told()).toEqual([{ type: "pass", source: "watch /locks", tookMs: expect.any(Number) }]);
    for (const { id } of server.sessions()) server.dropConnection(id);
    await eventually(() => told().length === 3, { withinMs: 20_000, what: "a second walk" });
    expect(told()[1]).toEqual({ type: "resync", reason: "reconnected" });
    for (const { id } of server.sessions()) server.expireSession(id);
    await eventually(() => told().length === 5, { withinMs: 20_000, what: "a third walk" });
    expect(told()[3]).toEqual({ type: "resync", reason: "new-session" });
  });

  it("says why, when no server was ever reached, and reads all once one is there", async () => {
    const port = await freePort();
    const watched = new Watched({ connect: `127.0.0.1:${port}`, roots: ["/locks"] });
    onTestFinished(() => watched[Symbol.asyncDispose]());
    const source = () => watched.collector.sources()[0];
    await eventually(() => source()?.state === "down", { withinMs: 20_000, what: "trouble to be told" });
    expect(source()?.message).toMatch(/ECONNREFUSED.*tried again/s);
    await start({ port });
    await watched.synced();
    expect(source()?.message).toBeNull();
  });

  it("gives the time of the last contact, not that of the last walk, and keeps it when contact is gone", async () => {
    const server = await start();
    server.operator.create("/locks");
    server.operator.create("/locks/a");
    server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
    const watched = await watch(server, { sessionTimeoutMs: 4_000 });
    await watched.synced();
    const source = () => watched.collector.sources()[0];
    const walkedMs = Date.now();
    await eventually(() => (source()?.lastSuccessMs ?? 0) >= walkedMs + 1_500, {
      withinMs: 20_000,
      what: "a sign of life of a server on which nothing happens",
    });
    await server.stop();
    await eventually(() => source()?.state === "stale", { withinMs: 20_000, what: "the outage to be told" });
    const keptMs = source()?.lastSuccessMs ?? 0;
    expect(keptMs).toBeGreaterThanOrEqual(walkedMs + 1_500);
    await eventually(() => Date.now() > keptMs + 500, { what: "half a second without contact" });
    expect(source()?.lastSuccessMs).toBe(keptMs);
    // Both times are calculated back from a wall clock of whole milliseconds, at two different moments.
    expect(Math.abs((watched.collector.get("/locks/a")?.readMs ?? 0) - keptMs)).toBeLessThanOrEqual(1);
  });

  it("calls what it shows stale within two thirds of the session time-out after a cut, by default within 7 s", async () => {
    const server = await start();
    server.operator.create("/locks");
    const proxy = await startProxy({ target: server.connectString });
    onTestFinished(() => proxy.close());
    const sessionTimeoutMs = 3_000;
    const watched = new Watched({ connect: proxy.connectString, roots: ["/locks"], sessionTimeoutMs });
    onTestFinished(() => watched[Symbol.asyncDispose]());
    await watched.synced();
    const stoodMs = standstill();
    const cutMs = performance.now();
    proxy.setMode("hole");
    await eventually(() => watched.collector.sources()[0]?.state === "stale", {
      withinMs: 20_000,
      what: "the cut to be told",
    });
    // While this process stands still, it can tell nothing. The half second more is for what is not measured as that.
    expect(performance.now() - cutMs - stoodMs()).toBeLessThan((sessionTimeoutMs * 2) / 3 + 500);
    expect((usualSessionTimeoutMs * 2) / 3).toBeLessThan(7_000);
  });

  it("says that a clock is wrong as long as it is", async () => {
    const server = await start();
    server.operator.create("/locks");
    let lateMs = 5_000;
    const runtime = { ...systemRuntime, wallMs: () => Date.now() - lateMs };
    const watched = await watch(server, { runtime });
    await watched.synced();
    watched.collector.attend(Array.from({ length: 200 }, (_, at) => `/locks/${at}`));
    let made = 0;
    // A clock that was set looks like a process that stood still, so the first nodes after it do not count.
    const skewedAfterOneMore = async (): Promise<boolean> => {
      const lock = `/locks/${made++}`;
      server.operator.create(lock);
      server.operator.create(`${lock}/lock-`, { flags: CreateFlags.persistentSequential });
      await watched.row(lock, ({ token }) => token !== null);
      return watched.collector.findings().some(({ kind }) => kind === "clock-skew");
    };
    await eventually(skewedAfterOneMore, { what: "the clock to be found wrong" });
    lateMs = 0;
    await eventually(async () => !(await skewedAfterOneMore()), { what: "the clock to be found right" });
  });

  it("calls no clock wrong because it stood still itself", async () => {
    const server = await start();
    for (const path of ["/locks", "/locks/a"]) server.operator.create(path);
    const watched = await watch(server);
    await watched.synced();
    watched.collector.attend(["/locks/a"]);
    server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
    // The process stands still for longer than clocks may differ. The event of the new node waits meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
    await watched.row("/locks/a", ({ token }) => token !== null);
    expect(watched.collector.findings().map(({ kind }) => kind)).not.toContain("clock-skew");
  });

  it("keeps what is known of each root over a doubt about the contact that ends without a new connection", async () => {
    const server = await start();
    const nobody = [{ perms: 31, scheme: "digest", id: "a:b" }];
    server.operator.create("/secret", { acl: nobody });
    server.operator.create("/locks");
    const watched = await watch(server, { roots: ["/secret", "/locks"], sessionTimeoutMs: 9_000 });
    await eventuallySettled(watched);
    const seen: unknown[] = [];
    watched.collector.onEvent(() => seen.push(watched.collector.sources()[1]?.state));
    // The process stands still for more than two thirds of the session time-out, and for far less than all of it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_100);
    await eventually(() => seen.includes("stale"), { what: "the doubt to be told" });
    const [secret, locks] = await eventuallySettled(watched);
    expect([secret?.state, locks?.state]).toEqual(["denied", "ok"]);
    expect(watched.events.filter(({ type }) => type === "resync")).toEqual([]);
  });

  it("reports grants after such a doubt as they come, also where a part of its only root is denied", async () => {
    const server = await start();
    const nobody = [{ perms: 31, scheme: "digest", id: "a:b" }];
    for (const path of ["/apps", "/apps/a", "/apps/b", "/apps/b/locks", "/apps/b/locks/l"])
      server.operator.create(path);
    server.operator.create("/apps/a/locks", { acl: nobody });
    const watched = await watch(server, { roots: ["/apps/*/locks"], sessionTimeoutMs: 9_000 });
    const denied = () => watched.collector.sources()[0]?.state === "denied";
    await eventually(denied, { what: "the root to be found denied" });
    const seen: unknown[] = [];
    watched.collector.onEvent(() => seen.push(watched.collector.sources()[0]?.state));
    // The process stands still for more than two thirds of the session time-out, and for far less than all of it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_100);
    await eventually(() => seen.some((state) => state === "stale" || state === "down"), {
      what: "the doubt",
    });
    await eventually(denied, { what: "the root to be denied again" });
    expect(watched.events.filter(({ type }) => type === "resync")).toEqual([]);
    const locks = await provider(server);
    await using _held = await locks.mutex("/apps/b/locks/l").acquire();
    await watched.row("/apps/b/locks/l", ({ state }) => state === "held");
    expect(watched.of("granted", "/apps/b/locks/l")).toHaveLength(1);
  });

  it("takes no server for an older one whose connections end in the middle of a walk", async () => {
    const server = await start();
    for (const path of ["/locks", "/locks/a"]) server.operator.create(path);
    const cuts = server.faults.on({ op: "multiRead", times: 2 }, { do: "close" });
    const watched = await watch(server);
    await watched.synced();
    expect(cuts.hits).toHaveLength(2);
    expect(watched.collector.sources()[0]).toMatchObject({ state: "ok", message: null });
    const locks = await provider(server);
    await using _held = await locks.mutex("/locks/a").acquire();
    await watched.row("/locks/a", ({ state }) => state === "held");
    expect(watched.of("granted", "/locks/a")).toHaveLength(1);
  });

  it("refuses a root with too many nodes, with the numbers, and reads the others", async () => {
    const server = await start();
    for (const path of ["/big", "/locks", "/locks/a"]) server.operator.create(path);
    for (let at = 0; at < 20; at++) server.operator.create(`/big/n${at}`);
    const watched = await watch(server, { roots: ["/big", "/locks"], maxNodes: 10 });
    const [big, small] = await eventuallySettled(watched);
    expect(big).toMatchObject({ state: "too-big" });
    expect(big?.message).toMatch(/\/big has 20 nodes or more, over the limit of 10/);
    expect(small).toMatchObject({ state: "ok", coverage: 1 });
    server.operator.create("/big/n0/lock-", { flags: CreateFlags.persistentSequential });
    expect(await watched.collector.compareNow()).toBe(0);
    expect(watched.collector.get("/big/n0")).toBeUndefined();
  });

  it("shows nothing more of a root that has grown over the limit while there was no contact", async () => {
    const server = await start();
    for (const path of ["/big", "/big/a"]) server.operator.create(path);
    server.operator.create("/big/a/lock-", { flags: CreateFlags.persistentSequential });
    const proxy = await startProxy({ target: server.connectString });
    onTestFinished(() => proxy.close());
    const watched = new Watched({ connect: proxy.connectString, roots: ["/big"], maxNodes: 10 });
    onTestFinished(() => watched[Symbol.asyncDispose]());
    await watched.row("/big/a", ({ state }) => state === "held");
    await proxy.setMode("refuse");
    proxy.resetAll();
    for (let at = 0; at < 20; at++) server.operator.create(`/big/n${at}`);
    await proxy.setMode("ok");
    await watched.gone("/big/a");
    expect(watched.collector.sources()[0]).toMatchObject({ state: "too-big", coverage: 0 });
    // The lock is held as before: it is no longer watched, but not released.
    expect(watched.of("released", "/big/a")).toEqual([]);
    expect(watched.of("unwatched", "/big/a")).toHaveLength(1);
  });

  it("shows nothing more of a root that events have let grow over the limit, from the next pass that compares on", async () => {
    const server = await start();
    const queue = { flags: CreateFlags.persistentSequential };
    for (const root of ["/big", "/locks"]) {
      server.operator.create(root);
      server.operator.create(`${root}/a`);
      server.operator.create(`${root}/a/lock-`, queue);
    }
    const watched = await watch(server, { roots: ["/big", "/locks"], maxNodes: 10 });
    await watched.synced();
    for (let at = 0; at < 20; at++) server.operator.create(`/big/n${at}`);
    expect(await watched.collector.compareNow()).toBe(0);
    const [big, small] = watched.collector.sources();
    expect(big).toMatchObject({ state: "too-big", coverage: 0 });
    expect(big?.message).toMatch(/over the limit of 10/);
    expect(small).toMatchObject({ state: "ok", coverage: 1 });
    expect(watched.collector.get("/big/a")).toBeUndefined();
    expect(watched.collector.get("/locks/a")?.state).toBe("held");
    // The lock is held as before: it is no longer watched, but not released.
    expect(watched.of("released", "/big/a")).toEqual([]);
    expect(watched.of("unwatched", "/big/a")).toHaveLength(1);
    server.operator.create("/big/n0/lock-", queue);
    expect(await watched.collector.compareNow()).toBe(0);
    expect(watched.collector.get("/big/n0")).toBeUndefined();
  });

  it("does not call its comparison stale because contact was lost in the middle of one", async () => {
    const server = await start();
    for (const path of ["/locks", "/locks/a"]) server.operator.create(path);
    server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
    const watched = await watch(server, { compareEveryMs: 100 });
    await watched.synced();
    const { collector } = watched;
    const states = new Set<unknown>();
    const status = () => collector.sources().find(({ source }) => source === "compare");
    collector.onEvent(() => states.add(status()?.state));
    const cut = server.faults.on({ op: "multiRead", times: 1 }, { do: "close" });
    await eventually(() => cut.hits.length === 1, { what: "a pass that is cut" });
    const passes = collector.comparisons;
    await eventually(() => collector.comparisons > passes, { what: "a pass on the next connection" });
    expect(watched.events).toContainEqual({ type: "resync", reason: "reconnected" });
    expect([...states]).not.toContain("stale");
    expect([...states]).not.toContain("down");
  });

  it("reports no end of a hold below a root that it may not read any more", async () => {
    const server = await start();
    for (const path of ["/locks", "/locks/a"]) server.operator.create(path);
    server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
    const watched = await watch(server);
    await watched.row("/locks/a", ({ state }) => state === "held");
    const { servers } = parseConnectString(server.connectString);
    const session = openSession({ servers, sessionTimeoutMs: 10_000, runtime: systemRuntime });
    onTestFinished(() => session.close());
    await session.whenConnected();
    const nobody = [{ perms: 31, scheme: "digest", id: "a:b" }];
    await session.request("setACL", { path: "/locks", acl: nobody, version: -1 });
    for (const { id } of server.sessions()) server.dropConnection(id);
    await watched.gone("/locks/a");
    expect(watched.of("released", "/locks/a")).toEqual([]);
    expect(watched.of("unwatched", "/locks/a")).toHaveLength(1);
  });

  it("reports the end of a hold whose root went while there was no contact, because its level was listed without it", async () => {
    const server = await start();
    const node = "/apps/x/locks/a/lock-0000000000";
    for (const path of ["/apps", "/apps/x", "/apps/x/locks", "/apps/x/locks/a"]) server.operator.create(path);
    server.operator.create("/apps/x/locks/a/lock-", { flags: CreateFlags.persistentSequential });
    const watched = await watch(server, { roots: ["/apps/*/locks"] });
    await watched.row("/apps/x/locks/a", ({ state }) => state === "held");
    for (const { id } of server.sessions()) server.dropConnection(id);
    for (const path of [node, "/apps/x/locks/a", "/apps/x/locks", "/apps/x"]) server.operator.delete(path);
    await watched.gone("/apps/x/locks/a");
    expect(watched.of("unwatched", "/apps/x/locks/a")).toEqual([]);
    expect(watched.of("released", "/apps/x/locks/a")).toHaveLength(1);
  });

  it("goes on with the holds below a root that was made after its start, over a new connection", async () => {
    const server = await start();
    const watched = await watch(server);
    await watched.synced();
    for (const path of ["/locks", "/locks/a"]) server.operator.create(path);
    server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
    await watched.row("/locks/a", ({ state }) => state === "held");
    for (const { id } of server.sessions()) server.dropConnection(id);
    await eventually(() => watched.events.some(({ type }) => type === "resync"), { what: "a second walk" });
    await watched.synced();
    const ends = (["released", "unwatched"] as const).flatMap((type) => watched.of(type, "/locks/a"));
    expect(ends).toEqual([]);
  });

  it("says that a root or a lock may not be read, instead of showing nothing", async () => {
    const server = await start();
    const nobody = [{ perms: 31, scheme: "digest", id: "a:b" }];
    server.operator.create("/secret", { acl: nobody });
    server.operator.create("/locks");
    server.operator.create("/locks/hidden", { acl: nobody });
    const watched = await watch(server, { roots: ["/secret", "/locks"] });
    const [secret, open] = await eventuallySettled(watched);
    expect(secret).toMatchObject({ state: "denied" });
    expect(secret?.message).toMatch(/READ/);
    expect(open).toMatchObject({ state: "ok" });
    expect(watched.collector.get("/locks/hidden")?.denied).toMatch(/READ/);
    expect((await watched.collector.detail("/locks/hidden", { maxWaiters: 1 }))?.denied).toMatch(/READ/);
  });

  it("takes * for any one segment, also for one that comes later", async () => {
    const server = await start();
    for (const path of ["/apps", "/apps/one", "/apps/one/locks"]) server.operator.create(path);
    const watched = await watch(server, { roots: ["/apps/*/locks"] });
    await watched.synced();
    const locks = await provider(server);
    await using _one = await locks.mutex("/apps/one/locks/a").acquire();
    await watched.row("/apps/one/locks/a", ({ state }) => state === "held");
    await using _two = await locks.mutex("/apps/two/locks/b").acquire();
    await watched.row("/apps/two/locks/b", ({ state }) => state === "held");
    await using _other = await locks.mutex("/apps/two/other/c").acquire();
    await watched.collector.compareNow();
    expect(watched.collector.get("/apps/two/other/c")).toBeUndefined();
  });

  it("looks below the chroot, and names locks as the server does", async () => {
    const server = await start();
    for (const path of ["/app", "/app/locks", "/app/locks/a"]) server.operator.create(path);
    server.operator.create("/app/locks/a/lock-", { flags: CreateFlags.persistentSequential });
    const watched = await watch(server, { connect: `${server.connectString}/app` });
    await watched.synced();
    expect(watched.collector.get("/app/locks/a")?.state).toBe("held");
  });

  it.each([
    ["with all four-letter words", "all" as const, "connected"],
    ["without any that lists them", [] as string[], "unknown"],
  ])("reports sessions %s", async (_title, words, state) => {
    const server = await start({ words });
    const watched = await watch(server);
    await watched.synced();
    const locks = await provider(server);
    await using held = await locks.mutex("/locks/a").acquire();
    const waiting = locks.mutex("/locks/a").acquire();
    await watched.row("/locks/a", ({ waiterCount }) => waiterCount === 1);
    const session = (await watched.collector.detail("/locks/a", { maxWaiters: 1 }))?.holders[0]?.session;
    const found = (await watched.collector.sessions()).find(({ id }) => id === session);
    expect(found).toMatchObject({ holds: ["/locks/a"], waits: ["/locks/a"], state });
    expect(found?.identity?.pid).toBe(process.pid);
    expect(found?.address === null).toBe(state === "unknown");
    expect(found?.timeoutMs === null).toBe(state === "unknown");
    const [machine] = await watched.collector.servers();
    expect(machine?.reachable).toBe(true);
    expect(machine?.role).toBe(state === "connected" ? "standalone" : "unknown");
    await held.release();
    await (await waiting).release();
  });

  it("calls the source of sessions down, and later stale, while they cannot be read, says why, and has it off once there is contact again", async () => {
    const server = await start({ words: [] });
    for (const path of ["/locks", "/locks/a"]) server.operator.create(path);
    server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
    const watched = await watch(server);
    await watched.row("/locks/a", ({ state }) => state === "held");
    const { collector } = watched;
    const status = () => collector.sources().find(({ source }) => source === "sessions");
    const fails = async (state: string): Promise<void> => {
      await expect(collector.sessions()).rejects.toThrow("connection to ZooKeeper");
      expect(status()).toMatchObject({ state, message: expect.stringContaining("connection to ZooKeeper") });
    };
    // The sessions are read only where a page needs them. A failure during the outage says nothing about the next reading.
    const offAgain = async (): Promise<void> => {
      await eventually(() => status()?.state === "off", { withinMs: 20_000, what: "the source to be off" });
      expect(status()?.message).toBeNull();
    };
    await offAgain();
    await server.restart({ whileDown: () => fails("down") });
    await offAgain();
    const read = () => collector.sessions().then(Boolean, () => false);
    await eventually(read, { withinMs: 20_000, what: "the sessions to be read" });
    expect(status()?.state).toBe("ok");
    await server.restart({ whileDown: () => fails("stale") });
    await offAgain();
    expect(status()?.lastSuccessMs).not.toBeNull();
  });

  it("reads an AdminServer, whose numbers are longer than JSON's, and reports that it is open", async () => {
    const server = await start({ words: [] });
    const id = 0x1000_0000_0000_0007n * 3n;
    const http = createServer((request, response) => {
      const answers: Record<string, string> = {
        "/commands/connections": `{"connections":[{"remote_socket_address":"10.1.2.3:5000","session_id":${id},"established":1700000000000,"session_timeout":9000,"last_response_time":5}],"secure_connections":[],"command":"connections","error":null}`,
        "/commands/dump": `{"session_id_to_ephemeral_paths":{"${id}":["/locks/a/lock-0000000000"]},"command":"dump","error":null}`,
        "/commands/server_stats": `{"version":"3.8.0-x","server_stats":{"server_state":"follower","last_processed_zxid":${id},"max_latency":3,"min_latency":0,"avg_latency":1},"node_count":12,"command":"server_stats","error":null}`,
      };
      response.end(answers[request.url ?? ""] ?? "no");
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise<void>((resolve) => http.close(() => resolve())));
    for (const path of ["/locks", "/locks/a"]) server.operator.create(path);
    server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
    const watched = await watch(server, { adminPort: (http.address() as AddressInfo).port });
    await watched.synced();
    const text = `0x${id.toString(16)}`;
    expect(await watched.collector.sessions()).toContainEqual(
      expect.objectContaining({ id: text, address: "10.1.2.3:5000", timeoutMs: 9_000, holds: ["/locks/a"] }),
    );
    const [machine] = await watched.collector.servers();
    expect(machine).toMatchObject({ role: "follower", version: "3.8.0" });
    expect(machine?.facts).toContainEqual({ name: "zxid", value: text, warning: false });
    expect(watched.collector.findings()).toContainEqual(
      expect.objectContaining({ kind: "unauthenticated-admin", object: server.connectString }),
    );
  });

  it("reports by when a session that lost its connection ends, by the time-out that it was known with", async () => {
    const server = await start({ words: [] });
    let connected = true;
    const one = `{"remote_socket_address":"10.1.2.3:5000","session_id":7,"session_timeout":9000}`;
    const http = createServer((request, response) => {
      const told = connected ? one : "";
      response.end(
        request.url === "/commands/connections"
          ? `{"connections":[${told}],"command":"connections","error":null}`
          : `{"session_id_to_ephemeral_paths":{"7":["/locks/a/lock-0000000000"]},"command":"dump","error":null}`,
      );
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise<void>((resolve) => http.close(() => resolve())));
    for (const path of ["/locks", "/locks/a"]) server.operator.create(path);
    server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
    const watched = await watch(server, { adminPort: (http.address() as AddressInfo).port });
    await watched.synced();
    const { collector } = watched;
    const session = async () => (await collector.sessions()).find(({ id }) => id === "0x7");
    expect(await session()).toMatchObject({ state: "connected", timeoutMs: 9_000 });
    expect(await collector.contacts(["0x7"])).toEqual([
      { id: "0x7", state: "connected", timeoutMs: 9_000, endsMs: null },
    ]);
    connected = false;
    const beforeMs = Date.now();
    expect(await session()).toMatchObject({ state: "suspended", timeoutMs: 9_000 });
    const [lost] = await collector.contacts(["0x7"]);
    expect(lost).toMatchObject({ state: "suspended", timeoutMs: 9_000 });
    expect(lost?.endsMs).toBeGreaterThanOrEqual(beforeMs + 9_000);
    expect(lost?.endsMs).toBeLessThanOrEqual(Date.now() + 9_000);
    // Later readings do not start the count anew.
    await session();
    expect((await collector.contacts(["0x7"]))[0]?.endsMs).toBe(lost?.endsMs);
    expect(await collector.contacts([])).toEqual([]);
    // Only one of three servers is asked, so the session may be connected to another one.
    const members = [1, 2, 3].map((id) => `server.${id}=zk${id}:2888:3888:participant;0.0.0.0:2181`);
    server.operator.setData("/zookeeper/config", Buffer.from([...members, "version=0"].join("\n")));
    expect(await session()).toMatchObject({ state: "unknown", timeoutMs: 9_000 });
    expect(collector.sources().find(({ source }) => source === "sessions")).toMatchObject({
      coverage: 1 / 3,
      message:
        "The ensemble has 2 servers more than option connect names: who is connected to them is not known. Name each server in connect.",
    });
  });

  it.each([["all" as const], [[] as string[]]])("discovers roots with the words %s", async (words) => {
    const server = await start({ words });
    const locks = await provider(server);
    await using _one = await locks.mutex("/found/here/a").acquire();
    await using _two = await locks.mutex("/found/here/b").acquire();
    await using _three = await locks.semaphore("/found/pools/c", 1).acquire();
    const watched = await watch(server, { roots: [] });
    await eventually(async () => (await watched.collector.discover().catch(() => [])).length > 0, {
      withinMs: 20_000,
      what: "contact",
    });
    const found = await watched.collector.discover();
    expect(found).toContainEqual({ root: "/found/here", locks: 2, libraries: ["curator-or-holdfast"] });
    expect(found.map(({ root }) => root)).toContain("/found/pools");
  });
});

describe("findings", () => {
  it("report foreign children, mixed kinds, high counters, orphans, long holds and nodes that no session ends", async () => {
    const server = await start({ sequences: { "/locks/high": 1_500_000_000 } });
    for (const path of ["/locks/foreign", "/locks/mixed", "/locks/orphan", "/locks/orphan/x"]) {
      server.operator.create(path);
    }
    const queue = { flags: CreateFlags.persistentSequential };
    server.operator.delete("/locks/orphan/x");
    server.operator.create("/locks/foreign/lock-", queue);
    server.operator.create("/locks/foreign/lock-", queue);
    server.operator.create("/locks/foreign/0-note");
    server.operator.create("/locks/mixed/lock-", queue);
    server.operator.create("/locks/mixed/0123456789abcdef0123456789abcdef__lock__", queue);
    server.operator.create("/locks/high/lock-", queue);
    const watched = await watch(server, { longHoldMs: 1, orphanAfterMs: 1 });
    await watched.synced();
    const looking = watched.collector.attend(["/locks/foreign", "/locks/mixed"]);
    const kinds = (): string[] => watched.collector.findings().map(({ kind, object }) => `${kind} ${object}`);
    const expected = [
      "foreign-child /locks/foreign",
      "mixed-kinds /locks/mixed",
      "sequence-high /locks/high",
      "orphan-parent /locks/orphan",
      "no-lease /locks/mixed",
      "stuck-with-waiters /locks/foreign",
      "long-hold /locks/high",
    ];
    await eventually(() => expected.every((one) => kinds().includes(one)), {
      withinMs: 20_000,
      what: "the findings",
      detail: () => kinds().join("\n"),
    });
    const ids = watched.collector.findings().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const again = watched.collector.findings();
    expect(again.map(({ id }) => id)).toEqual(ids);
    looking.end();
  });

  it("are a hundred of a kind at most, and the last says how many more there are, until those end", async () => {
    const server = await start();
    server.operator.create("/locks");
    const queue = { flags: CreateFlags.persistentSequential };
    const names = Array.from({ length: 130 }, (_, at) => `/locks/l${at}`);
    for (const name of names) server.operator.create(name);
    const holders = names.map((name) => server.operator.create(`${name}/lock-`, queue));
    const watched = await watch(server, { longHoldMs: 1 });
    await watched.synced();
    const long = () => watched.collector.findings().filter(({ kind }) => kind === "long-hold");
    const last = (): string => long().at(-1)?.evidence ?? "";
    // An earlier look has met some of the holds before they were old enough.
    await eventually(() => long().length === 100 && / 30 more of this kind\.$/.test(last()), {
      what: "a hundred findings of 130",
      detail: last,
    });
    expect(new Set(long().map(({ object }) => object)).size).toBe(100);
    for (const holder of holders.slice(0, 40)) server.operator.delete(holder);
    // While the ends come in, an earlier look may also give 90 findings for a moment.
    await eventually(() => long().length === 90 && !last().includes("more of this kind"), {
      what: "the findings of those that are held",
      detail: last,
    });
    expect(last()).not.toContain("more of this kind");
  });

  it("are none for what has grown old since contact was lost, and come once it is back", async () => {
    const server = await start();
    for (const path of ["/locks", "/locks/a"]) server.operator.create(path);
    server.operator.create("/locks/a/lock-", { flags: CreateFlags.persistentSequential });
    let aheadMs = 0;
    const runtime = { ...systemRuntime, wallMs: () => Date.now() + aheadMs };
    const watched = await watch(server, { runtime, longHoldMs: 600_000 });
    await watched.synced();
    expect(watched.collector.get("/locks/a")?.state).toBe("held");
    const kinds = () => watched.collector.findings().map(({ kind }) => kind);
    await server.restart({
      whileDown: async () => {
        await eventually(() => watched.collector.sources()[0]?.state === "stale", { what: "the outage" });
        aheadMs = 3_600_000;
        expect(kinds()).not.toContain("long-hold");
        const [figures] = [...watched.collector.figures()].filter(({ holderCount }) => holderCount > 0);
        expect(figures?.readMs).toBe(watched.collector.get("/locks/a")?.readMs);
        expect(figures?.readMs).toBeLessThanOrEqual(Date.now());
      },
    });
    await eventually(() => kinds().includes("long-hold"), { withinMs: 20_000, what: "the finding" });
  });

  it("of a long hold come with a row that is kept until its lock changes", async () => {
    const server = await start();
    server.operator.create("/locks");
    server.operator.create("/locks/a");
    const queue = { flags: CreateFlags.persistentSequential };
    server.operator.create("/locks/a/lock-", queue);
    const watched = await watch(server, { longHoldMs: 1 });
    await watched.synced();
    const kinds = () => watched.collector.findings().map(({ kind }) => kind);
    await eventually(() => kinds().includes("long-hold"), { what: "the finding" });
    const kept = await watched.row("/locks/a", ({ holderCount }) => holderCount === 1);
    expect(kinds()).toContain("long-hold");
    expect(watched.collector.get("/locks/a")?.holders).toBe(kept.holders);
    server.operator.create("/locks/a/lock-", queue);
    await watched.row("/locks/a", ({ waiterCount }) => waiterCount === 1);
    await eventually(() => kinds().includes("stuck-with-waiters"), { what: "the finding with the waiter" });
  });
});

async function eventuallySettled(watched: Watched): Promise<ReturnType<Watched["collector"]["sources"]>> {
  await eventually(
    () =>
      watched.collector
        .sources()
        .slice(0, 2)
        .every(({ state }) => ["ok", "denied", "too-big"].includes(state)),
    { withinMs: 10_000, what: "sources settled" },
  );
  return watched.collector.sources();
}
