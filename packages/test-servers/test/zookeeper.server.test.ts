import { existsSync } from "node:fs";
import { CreateFlags } from "@holdfast/zk-protocol";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import {
  eventually,
  expireSession,
  freePort,
  startZooKeeper,
  UnknownSessionError,
  UnreachableError,
  type ZooKeeperNode,
} from "../src/index.js";
import { isRunning } from "./support/processes.js";
import { WireClient } from "./support/wire-client.js";

let server: ZooKeeperNode;
const clients: WireClient[] = [];

beforeAll(async () => {
  server = await startZooKeeper();
});

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

afterAll(() => server.stop());

async function connect(node: ZooKeeperNode = server, options = {}): Promise<WireClient> {
  const client = await WireClient.connect(node.connectString, options);
  clients.push(client);
  return client;
}

test("a server is up when start resolves, under the pid it names, and all four-letter words are allowed", async () => {
  expect(await server.srvr()).toMatchObject({ version: "3.8.0", mode: "standalone" });
  expect(isRunning(server.pid)).toBe(true);
  expect(await server.fourLetter("ruok")).toBe("imok");
  expect(await server.fourLetter("conf")).toContain(`dataDir=${server.dataDir}`);
  expect(await server.fourLetter("wchp")).not.toContain("whitelist");
});

test("an AdminServer answers on its port when start resolves, and there is none unless asked for", async () => {
  await using other = await startZooKeeper({ adminServer: true, fourLetterWords: [] });
  const { sessionId } = (await connect(other)).session;
  const answer = await fetch(`http://127.0.0.1:${other.adminPort}/commands/connections`);
  expect(await answer.text()).toContain(`${sessionId}`);
  expect(await other.fourLetter("cons")).toContain("whitelist");
  expect(server.adminPort).toBe(undefined);
});

test("sessions last 2 to 20 ticks of 500 ms unless configured otherwise", async () => {
  expect((await connect(server, { timeoutMs: 1 })).session.timeoutMs).toBe(1_000);
  expect((await connect(server, { timeoutMs: 60_000 })).session.timeoutMs).toBe(10_000);
  await using other = await startZooKeeper({
    tickTimeMs: 200,
    minSessionTimeoutMs: 300,
    maxSessionTimeoutMs: 90_000,
  });
  expect((await connect(other, { timeoutMs: 1 })).session.timeoutMs).toBe(300);
  expect((await connect(other, { timeoutMs: 95_000 })).session.timeoutMs).toBe(90_000);
});

test("expireSession ends a session at the server: its nodes are gone, its owner is disconnected and not let back", async () => {
  const owner = await connect();
  const watcher = await connect();
  await owner.create("/victim", CreateFlags.ephemeral);
  await watcher.send("exists", { path: "/victim", watch: true });
  const { sessionId, password } = owner.session;
  await expireSession({ connectString: server.connectString, sessionId, password });
  expect(await watcher.exists("/victim")).toBe(false);
  expect(watcher.events).toEqual([{ type: "deleted", state: 3, path: "/victim" }]);
  await owner.closed;
  await expect(connect(server, { session: { sessionId, password } })).rejects.toThrow("session expired");
  const again = expireSession({ connectString: server.connectString, sessionId, password });
  await expect(again).rejects.toThrow(UnknownSessionError);
  await expect(again).rejects.toThrow(
    /session 0x[0-9a-f]+ was not ended through .*the server does not know it/,
  );
});

test("expireSession tries the servers of a connect string until one accepts, and says when none does", async () => {
  const owner = await connect();
  const dead = `127.0.0.1:${await freePort()}`;
  const { sessionId, password } = owner.session;
  await expect(expireSession({ connectString: dead, sessionId, password })).rejects.toThrow("ECONNREFUSED");
  await expireSession({ connectString: `${dead},${server.connectString}/chroot`, sessionId, password });
  await owner.closed;
});

test("a wrong password does not expire a session", async () => {
  const owner = await connect();
  await owner.create("/kept", CreateFlags.ephemeral);
  const { sessionId } = owner.session;
  const password = Buffer.alloc(16, 1);
  await expect(expireSession({ connectString: server.connectString, sessionId, password })).rejects.toThrow();
  expect(await (await connect()).exists("/kept")).toBe(true);
});

test("sequences presets the number of the next sequential child, up to the last there is, and restarts keep it", async () => {
  await using preset = await startZooKeeper({
    sequences: { "/deep": 100, "/deep/down/lock": 1_999_999_999, "/deep/other": 7, "/end": 2_147_483_646 },
  });
  const client = await connect(preset);
  const next = (path: string) => client.create(`${path}/lock-`, CreateFlags.ephemeralSequential);
  expect(await next("/deep/down/lock")).toBe("/deep/down/lock/lock-1999999999");
  expect(await next("/deep/down/lock")).toBe("/deep/down/lock/lock-2000000000");
  expect(await next("/deep/other")).toBe("/deep/other/lock-0000000007");
  expect(await next("/deep")).toBe("/deep/lock-0000000100");
  expect(await next("/end")).toBe("/end/lock-2147483646");
  expect(await next("/end")).toBe("/end/lock-2147483647");
  await expect(next("/end")).rejects.toThrow("error -110");
  // The child by which the number was preset is gone.
  const { response } = await client.send("getChildren", { path: "/deep/other", watch: false });
  expect(response?.children).toEqual(["lock-0000000007"]);
  await preset.restart();
  const later = await connect(preset);
  expect(await later.create("/deep/other/lock-", CreateFlags.ephemeralSequential)).toBe(
    "/deep/other/lock-0000000008",
  );
});

test("sequences that cannot be are refused", async () => {
  await expect(startZooKeeper({ sequences: { lock: 1 } })).rejects.toThrow("lock is not a path");
  await expect(startZooKeeper({ sequences: { "/lock": 2 ** 31 } })).rejects.toThrow("2147483648 for /lock");
});

test("restart keeps the port, the data and the sessions", async () => {
  await using own = await startZooKeeper();
  const client = await connect(own, { timeoutMs: 10_000 });
  await client.create("/mine", CreateFlags.ephemeral);
  const pid = own.pid;
  await own.restart();
  expect(own.pid).not.toBe(pid);
  await client.closed;
  const again = await connect(own, { session: client.session });
  expect(again.session.sessionId).toBe(client.session.sessionId);
  expect(await again.exists("/mine")).toBe(true);
});

test("a killed server refuses, a paused one is silent, and both come back", async () => {
  await using own = await startZooKeeper();
  // The server stands still for two seconds or more, and counts them to the session's silence.
  const client = await connect(own, { timeoutMs: 10_000 });
  await own.pause();
  expect(own.running).toBe(true);
  expect(await own.mode()).toBeUndefined();
  await expect(own.srvr({ timeoutMs: 100 })).rejects.toMatchObject({ reason: "timeout" });
  own.resume();
  expect(await own.mode()).toBe("standalone");
  expect(client.ended).toBe(false);

  await own.kill();
  expect(own.running).toBe(false);
  await expect(own.srvr()).rejects.toBeInstanceOf(UnreachableError);
  await expect(own.srvr()).rejects.toMatchObject({ reason: "refused" });
  expect(() => own.pid).toThrow("is not running");
  await expect(own.pause()).rejects.toThrow("is not running");
  await own.restart();
  expect(await own.mode()).toBe("standalone");
});

test("stop ends the process, also a paused one, and removes the data; the server cannot be started again", async () => {
  const own = await startZooKeeper();
  const { pid, dataDir } = own;
  await own.pause();
  await own.stop();
  expect(isRunning(pid)).toBe(false);
  expect(existsSync(dataDir)).toBe(false);
  await own.stop();
  await expect(own.restart()).rejects.toThrow("was stopped");
});

test("a server that does not come up fails with its log and leaves nothing behind", async () => {
  const failing = startZooKeeper({ config: { initLimit: "many" } });
  await expect(failing).rejects.toThrow(
    /did not start: exit code \d+; the end of its log:[\s\S]*NumberFormatException/,
  );
  await expect(startZooKeeper({ javaOptions: ["-XX:NoSuchOption"] })).rejects.toThrow(
    /did not start[\s\S]*NoSuchOption/,
  );
});

test("another server on the port is not taken for ours", async () => {
  await expect(startZooKeeper({ port: server.port })).rejects.toThrow(
    /did not start: (exit code \d+|another server, with its data in)/,
  );
  expect(await server.mode()).toBe("standalone");
});

test("empty containers go soon with a short check interval, and nodes with a time to live are allowed on request", async () => {
  await using own = await startZooKeeper({ containerCheckIntervalMs: 200, extendedTypes: true });
  const client = await connect(own);
  const acl = [{ perms: 31, scheme: "world", id: "anyone" }];
  await client.send("createContainer", { path: "/box", data: null, acl, flags: CreateFlags.container });
  await client.create("/box/thing");
  await client.send("delete", { path: "/box/thing", version: -1 });
  await eventually(async () => !(await client.exists("/box")), { what: "the container to go" });
  const ttl = { path: "/ttl", data: null, acl, flags: CreateFlags.ttl, ttlMs: 60_000n };
  expect((await client.send("createTTL", ttl)).err).toBe(0);
});
