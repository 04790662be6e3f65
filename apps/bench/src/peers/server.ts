import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Millis } from "@holdfast/core";
import { eventually, startProxy, startRedis, startZooKeeper } from "@holdfast/test-servers";
import type { Backend } from "./workloads.js";

/** One server of our own. */
export interface BenchServer {
  readonly version: string;
  readonly pid: number;
  /** `host:port`. */
  readonly address: string;
  /** Requests since its start. ZooKeeper: packets received. Redis: commands, including those in scripts. */
  requests(): Promise<number>;
  /** Resolves when `owners` owners, which `queue` has made to call acquire, stand behind a holder. */
  queued(owners: number, signal: AbortSignal, queue: () => Promise<unknown>): Promise<void>;
  stop(): Promise<void>;
}

/** Each new owner lists those that stand there already, so that a long queue takes long. */
const queuedWithinMs = (owners: number): Millis => 60_000 + 10 * owners;
/** The peer `shortest` has a connection for each of ten thousand owners. */
const mostConnections = 12_000;
/** When the last node of a queue is there, its owner still has to ask for a watch. */
const watchedAfterMs: Millis = 300;

export function startServer(backend: Backend): Promise<BenchServer> {
  return backend === "zookeeper" ? zookeeper() : redis();
}

/**
 * ZooKeeper that waits for the disk at each write, with the compiler and file sizes of a server that is meant to last.
 */
async function zookeeper(): Promise<BenchServer> {
  const node = await startZooKeeper({
    forceSync: true,
    tickTimeMs: 2_000,
    heapMb: 1_024,
    javaOptions: ["-XX:TieredStopAtLevel=4", "-Dzookeeper.preAllocSize=65536"],
    logLevel: "error",
    // Curator's locks are containers. If one were removed while nodes are counted, it would hide one that was added.
    containerCheckIntervalMs: 86_400_000,
  });
  const nodes = async (): Promise<number> => (await node.srvr()).nodeCount;
  return {
    version: `ZooKeeper ${(await node.srvr()).version}`,
    pid: node.pid,
    address: node.connectString,
    async requests() {
      const received = /^zk_packets_received\s+(\d+)/m.exec(await node.fourLetter("mntr"))?.[1];
      if (received === undefined)
        throw new Error("the server does not tell how many packets it has received");
      return Number(received);
    },
    async queued(owners, signal, queue) {
      // Each owner has a node in all these queues, and so has the holder.
      const wanted = (await nodes()) + owners + 1;
      await queue();
      await eventually(async () => signal.aborted || (await nodes()) >= wanted, {
        what: `${owners} owners in the queue`,
        withinMs: queuedWithinMs(owners),
      });
      await delay(watchedAfterMs, undefined, { signal });
    },
    stop: () => node.stop(),
  };
}

/** Redis without persistence. */
async function redis(): Promise<BenchServer> {
  const node = await startRedis({ config: { maxclients: mostConnections } });
  return {
    version: `Redis ${(await node.info("server")).redis_version}`,
    pid: node.pid,
    address: node.address,
    async requests() {
      const commands = Object.entries(await node.info("commandstats"));
      // INFO is the command of this request, so it does not count.
      const others = commands.filter(([name]) => name.startsWith("cmdstat_") && name !== "cmdstat_info");
      return others.reduce((sum, [, text]) => sum + Number(/calls=(\d+)/.exec(text)?.[1]), 0);
    },
    async queued(owners, signal, queue) {
      await queue();
      // Each peer keeps its queue under another key, or has none, so the queue cannot be read.
      await delay(200 + owners, undefined, { signal });
    },
    stop: () => node.stop(),
  };
}

/** Runs `body` with an address from which the way to the server and back takes this much longer. */
export async function atDistance<T>(
  { address }: BenchServer,
  roundTripMs: Millis,
  body: (address: string) => Promise<T>,
): Promise<T> {
  if (roundTripMs === 0) return body(address);
  const proxy = await startProxy({ target: address });
  try {
    proxy.setDelayMs(roundTripMs / 2);
    return await body(proxy.connectString);
  } finally {
    await proxy.close();
  }
}

/** What the server and the client have used so far. */
export interface Meter {
  readonly atMs: Millis;
  readonly requests: number;
  readonly serverCpuMs: Millis;
  readonly clientCpuMs: Millis;
}

export async function readMeter(server: BenchServer, clientPid: number): Promise<Meter> {
  const requests = await server.requests();
  return {
    atMs: performance.now(),
    requests,
    serverCpuMs: processorTimeMs(server.pid),
    clientCpuMs: processorTimeMs(clientPid),
  };
}

/** The processor time of a process in all its threads, in steps of 10 ms; NaN if there is no `/proc`. */
export function processorTimeMs(pid: number): Millis {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program's name comes second, in parentheses, and may hold any character. User and system time are fields 14
    // and 15.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Number.NaN;
    throw error;
  }
}
