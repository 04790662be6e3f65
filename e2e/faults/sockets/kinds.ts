import { redisCollector } from "@holdfast/collectors/redis";
import { systemRuntime } from "@holdfast/core";
import { expireSession, fourLetterWord, RedisConnection } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { askWord } from "../../../packages/collectors/src/zookeeper/four-letter.js";
import { IoredisLine } from "../../../packages/redis-recipes/src/client/ioredis-line.js";
import type { RedisTarget } from "../../../packages/redis-recipes/src/client/target.js";

/** The TLS options of a client; `undefined` means plain TCP. */
export interface ClientTls {
  readonly ca?: string;
}

/** A client under test. A case ends by closing it. */
export interface Opened {
  close(): unknown;
  /** Settles when the client gives up by itself; absent if the client connects again. */
  readonly over?: Promise<unknown>;
}

export interface Kind {
  readonly server: "redis" | "zookeeper";
  /** The least number of pieces that its connections send in plain TCP; a TLS handshake adds one. */
  readonly pieces: number;
  readonly tls: boolean;
  open(port: number, tls: ClientTls | undefined): Opened;
}

const nothing = (): void => {};

/** The limit of a client that connects once. A client that gave up before it has sent its pieces would never be cut. */
const onceMs = 5_000;

function line(target: RedisTarget): Opened {
  const opened = new IoredisLine({
    target,
    runtime: systemRuntime,
    connectTimeoutMs: 1_000,
    policy: { replicas: 1, acks: 1, waitTimeoutMs: 100 },
    shardedPubSub: "off",
    onState: nothing,
    warn: nothing,
  });
  opened.subscribe("told", "plain", nothing).ready.catch(nothing);
  return { close: () => opened.close(100) };
}

function once(work: Promise<unknown>): Opened {
  return { close: nothing, over: work.catch(nothing) };
}

/** HELLO, AUTH, INFO, and the client's own request. */
const commandPieces = 4;

export const kinds: Readonly<Record<string, Kind>> = {
  "commands, WAIT and a subscription on one server": {
    server: "redis",
    pieces: commandPieces,
    tls: true,
    open: (port, tls) =>
      line({ kind: "single", address: { host: "127.0.0.1", port }, access: { ...access, tls }, db: 0 }),
  },
  "a sentinel and the master that it names": {
    server: "redis",
    pieces: 2,
    tls: true,
    open: (port, tls) => line(sentinel(port, tls)),
  },
  "a node of a cluster": {
    server: "redis",
    pieces: 2,
    tls: true,
    open: (port, tls) =>
      line({
        kind: "cluster",
        nodes: [{ host: "127.0.0.1", port }],
        natMap: undefined,
        access: { ...access, tls },
      }),
  },
  "the collector's link to one server": {
    server: "redis",
    pieces: 2,
    tls: true,
    open: (port, tls) =>
      redisCollector({ url: `redis${tls ? "s" : ""}://:secret@127.0.0.1:${port}`, ...(tls && { tls }) }),
  },
  "the collector's links to a sentinel and a master": {
    server: "redis",
    pieces: 2,
    tls: true,
    open: (port, tls) =>
      redisCollector({
        sentinels: { sentinels: [{ host: "127.0.0.1", port }], name: "m", ...(tls && { tls }) },
        password: "secret",
        ...(tls && { tls }),
      }),
  },
  "the collector's link to a node of a cluster": {
    server: "redis",
    pieces: 2,
    tls: true,
    open: (port, tls) =>
      redisCollector({
        cluster: { nodes: [{ host: "127.0.0.1", port }] },
        password: "secret",
        ...(tls && { tls }),
      }),
  },
  "the connection of the test servers to Redis": {
    server: "redis",
    pieces: 2,
    tls: true,
    open: (port, tls) => {
      const work = RedisConnection.connect({
        port,
        password: "secret",
        timeoutMs: onceMs,
        ...(tls && { ca: tls.ca ?? "" }),
      });
      let opened: RedisConnection | undefined;
      const asked = work.then(async (connection) => {
        opened = connection;
        await connection.command("PING").finally(() => connection.close());
      });
      return { close: () => opened?.close(), over: asked.catch(nothing) };
    },
  },
  "a session of ZooKeeper": {
    server: "zookeeper",
    pieces: 1,
    tls: true,
    open: (port, tls) => zookeeperLocks({ connect: `127.0.0.1:${port}`, ...(tls && { tls }) }),
  },
  "a four-letter word of the collector": {
    server: "zookeeper",
    pieces: 1,
    tls: true,
    open: (port, tls) => once(askWord("srvr", { host: "127.0.0.1", port }, tls, onceMs)),
  },
  "a four-letter word of the test servers": {
    server: "zookeeper",
    pieces: 1,
    tls: false,
    open: (port) => once(fourLetterWord("srvr", { port, timeoutMs: onceMs })),
  },
  "the end that the test servers make of a session": {
    server: "zookeeper",
    pieces: 1,
    tls: false,
    open: (port) =>
      once(
        expireSession({
          connectString: `127.0.0.1:${port}`,
          sessionId: 1n,
          password: Buffer.alloc(16),
          withinMs: 1_000,
        }),
      ),
  },
};

const access = { username: undefined, password: "secret" } as const;

function sentinel(port: number, tls: ClientTls | undefined): RedisTarget {
  return {
    kind: "sentinel",
    sentinels: [{ host: "127.0.0.1", port }],
    masterName: "m",
    sentinelAccess: { username: undefined, password: undefined, tls },
    natMap: undefined,
    access: { ...access, tls },
    db: 0,
  };
}
