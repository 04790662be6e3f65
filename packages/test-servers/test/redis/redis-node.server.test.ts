import { existsSync } from "node:fs";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  eventually,
  makeRedisCertificate,
  type RedisNode,
  RedisReplyError,
  startRedis,
  startRedisCluster,
  startRedisReplicaSet,
  UnreachableError,
} from "../../src/index.js";
import { isRunning } from "../support/processes.js";

let server: RedisNode;

beforeAll(async () => {
  server = await startRedis();
});

beforeEach(async () => {
  await server.command("FLUSHALL");
});

afterAll(() => server.stop());

async function setting(node: RedisNode, name: string): Promise<unknown> {
  const told = await node.command("CONFIG", "GET", name);
  return Array.isArray(told) ? told[1] : undefined;
}

test("a server is up when start resolves, under the pid it names, and keeps nothing on the disk by default", async () => {
  expect(await server.command("PING")).toBe("PONG");
  expect(isRunning(server.pid)).toBe(true);
  expect((await server.info("server")).process_id).toBe(String(server.pid));
  expect(server.url).toBe(`redis://127.0.0.1:${server.port}`);
  expect(await setting(server, "save")).toBe("");
  expect(await setting(server, "appendonly")).toBe("no");
  expect(await setting(server, "maxmemory-policy")).toBe("noeviction");
  expect(await server.role()).toMatchObject({ role: "master" });
});

test("commands resolve with replies of all kinds and reject with the server's errors", async () => {
  expect(await server.command("SET", "key", "wörter")).toBe("OK");
  expect(await server.command("GET", "key")).toBe("wörter");
  expect(await server.command("GET", "none")).toBeNull();
  expect(await server.command("RPUSH", "list", 1, Buffer.from("two"))).toBe(2);
  expect(await server.command("LRANGE", "list", 0, -1)).toEqual(["1", "two"]);
  const wrong = server.command("INCR", "key");
  await expect(wrong).rejects.toBeInstanceOf(RedisReplyError);
  await expect(wrong).rejects.toMatchObject({ code: "ERR" });
});

test("options reach the server, those of `config` last", async () => {
  await using own = await startRedis({
    maxMemory: "64mb",
    maxMemoryPolicy: "allkeys-lru",
    notify: "KEA",
    save: "900 1",
    config: { "maxmemory-policy": "volatile-ttl", hz: 50 },
  });
  expect(await setting(own, "maxmemory")).toBe(String(64 << 20));
  expect(await setting(own, "maxmemory-policy")).toBe("volatile-ttl");
  expect(await setting(own, "notify-keyspace-events")).toBe("AKE");
  expect(await setting(own, "save")).toBe("900 1");
  expect(await setting(own, "hz")).toBe("50");
});

test("a password and users close the server to others, and what is done here goes on", async () => {
  await using own = await startRedis({
    password: "geheim",
    users: ["app on >secret ~lock:* &* +@all -@admin"],
  });
  expect(await own.command("SET", "other", 1)).toBe("OK");
  using connection = await own.connect({ username: "app", password: "secret" });
  expect(await connection.command("SET", "lock:a", 1)).toBe("OK");
  await expect(connection.command("GET", "other")).rejects.toMatchObject({ code: "NOPERM" });
  const nobody = { username: "default", password: "wrong" };
  await expect(own.connect(nobody)).rejects.toMatchObject({ code: "WRONGPASS" });
  using byPassword = await own.connect({ username: "default", password: "geheim" });
  expect(await byPassword.command("PING")).toBe("PONG");
});

test("with TLS the server proves who it is by a certificate of its own, and speaks nothing else", async () => {
  await using own = await startRedis({ tls: true, password: "geheim" });
  expect(await own.command("SET", "key", 1)).toBe("OK");
  expect(own.url).toBe(`rediss://127.0.0.1:${own.port}`);
  const socket = connectTls({ host: own.host, port: own.port, ca: own.tls?.ca ?? "" });
  const state = await new Promise((resolve) => {
    socket.once("secureConnect", () => resolve(socket.authorized));
    socket.once("error", (error) => resolve(error.message));
  });
  socket.destroy();
  expect(state).toBe(true);
  const stranger = connectTls({ host: own.host, port: own.port });
  const refused = await new Promise((resolve) => {
    stranger.once("secureConnect", () => resolve("trusted"));
    stranger.once("error", (error: NodeJS.ErrnoException) => resolve(error.code));
  });
  stranger.destroy();
  expect(refused).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
});

test("a certificate can be given, and proxies that would have to read it are refused", async () => {
  const tls = makeRedisCertificate();
  await using own = await startRedis({ tls });
  expect(own.tls?.ca).toBe(tls.certificate);
  expect(await own.command("PING")).toBe("PONG");
  await expect(startRedisReplicaSet({ tls, replicationProxies: true })).rejects.toThrow("cannot read TLS");
  await expect(startRedisReplicaSet({ tls, clientProxies: true })).rejects.toThrow("cannot read TLS");
  await expect(startRedisCluster({ tls: true, clientProxies: true })).rejects.toThrow("cannot read TLS");
});

test("a killed server refuses, a paused one is silent, and both come back", async () => {
  await using own = await startRedis();
  const runId = await own.runId();
  await own.pause();
  expect(own.running).toBe(true);
  // The limit also holds for the connecting, which a busy machine must manage.
  using patience = await own.connect({ timeoutMs: 600 });
  await expect(patience.command("PING")).rejects.toMatchObject({ reason: "timeout" });
  own.resume();
  expect(await own.runId()).toBe(runId);

  const { pid } = own;
  await own.kill();
  expect(own.running).toBe(false);
  expect(isRunning(pid)).toBe(false);
  await expect(own.command("PING")).rejects.toBeInstanceOf(UnreachableError);
  await expect(own.command("PING")).rejects.toMatchObject({ reason: "refused" });
  await expect(own.pause()).rejects.toThrow("is not running");
  await own.restart();
  expect(await own.runId()).not.toBe(runId);
});

test("a restart leaves what a crash leaves, everything, or nothing", async () => {
  await using volatile = await startRedis();
  await volatile.command("SET", "key", 1);
  await volatile.restart({ data: "all" });
  expect(await volatile.command("GET", "key")).toBe("1");
  await volatile.command("SET", "later", 1);
  await volatile.restart();
  expect(await volatile.command("GET", "later")).toBeNull();

  await using durable = await startRedis({ appendOnly: "always" });
  await durable.command("SET", "key", 1);
  await durable.restart();
  expect(await durable.command("GET", "key")).toBe("1");
  await durable.restart({ data: "none" });
  expect(await durable.command("GET", "key")).toBeNull();
});

test("a restart resolves when the data has been read, not when the first answer comes", async () => {
  const slow = { "key-load-delay": 2_000, "loading-process-events-interval-bytes": 1_024 };
  await using own = await startRedis({ config: slow });
  const fill = "for i = 1, 200 do redis.call('SET', 'key' .. i, string.rep(i, 100)) end";
  await own.command("EVAL", fill, 0);
  await own.restart({ data: "all" });
  expect(await own.command("DBSIZE")).toBe(200);
});

test("CLIENT PAUSE holds writes or everything back for its time, or until it is ended", async () => {
  using writer = await server.connect();
  await server.clientPause(60_000, "WRITE");
  const write = writer.command("SET", "key", 1);
  expect(await server.command("GET", "key")).toBeNull();
  await server.clientUnpause();
  expect(await write).toBe("OK");

  const startMs = performance.now();
  await server.clientPause(300);
  expect(await server.command("GET", "key")).toBe("1");
  expect(performance.now() - startMs).toBeGreaterThan(290);
});

test("flushed scripts are unknown, and connections are closed by type", async () => {
  const sha = String(await server.command("SCRIPT", "LOAD", "return 1"));
  expect(await server.command("EVALSHA", sha, 0)).toBe(1);
  await server.flushScripts();
  await expect(server.command("EVALSHA", sha, 0)).rejects.toMatchObject({ code: "NOSCRIPT" });

  using plain = await server.connect();
  using subscriber = await server.connect();
  await subscriber.command("SUBSCRIBE", "channel");
  expect(await server.killClients("pubsub")).toBe(1);
  await eventually(() => subscriber.ended, { what: "the subscriber to lose its connection" });
  expect(plain.ended).toBe(false);
  expect(await server.killClients("normal")).toBe(1);
  await eventually(() => plain.ended, { what: "the other to lose its connection" });
});

test("stop ends the process, also a paused one, and removes the data; the server cannot be started again", async () => {
  const own = await startRedis();
  const { pid, dataDir } = own;
  await own.pause();
  await own.stop();
  expect(isRunning(pid)).toBe(false);
  expect(existsSync(dataDir)).toBe(false);
  await own.stop();
  await expect(own.restart()).rejects.toThrow("was stopped");
});

test("a server that does not come up fails with its log, and another one on the port is not taken for ours", async () => {
  await expect(startRedis({ config: { "no-such-option": 1 } })).rejects.toThrow(
    /did not start: exit code 1; the end of its log:[\s\S]*no-such-option/,
  );
  await expect(startRedis({ port: server.port })).rejects.toThrow(
    /did not start: (exit code \d+|another server, pid \d+)/,
  );
  expect(await server.command("PING")).toBe("PONG");
});

test("an append-only file that is cut back forgets what came after, and a kill alone forgets nothing", async () => {
  await using own = await startRedis({ appendOnly: "everysec" });
  await own.command("SET", "early", "1");
  const before = own.appendedBytes();
  await own.command("SET", "late", "1");
  expect(own.appendedBytes()).toBeGreaterThan(before);
  expect(() => own.cutAppended(before)).toThrow("is running");
  await own.kill();
  await own.restart();
  expect(await own.command("EXISTS", "early", "late")).toBe(2);
  await own.kill();
  expect(() => own.cutAppended(own.appendedBytes() + 1)).toThrow(RangeError);
  own.cutAppended(before);
  await own.restart();
  expect(await own.command("EXISTS", "early")).toBe(1);
  expect(await own.command("EXISTS", "late")).toBe(0);
});
