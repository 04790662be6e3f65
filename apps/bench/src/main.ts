// Measures what locks cost. `--help` lists the commands.
import { HoldfastError } from "@holdfast/core";
import { startEnsemble, startRedis, startZooKeeper, TestServerError } from "@holdfast/test-servers";
import { help, type Options, parseOptions, UsageError } from "./cli/options.js";
import { measureDashboard } from "./dashboard/measure.js";
import { dashboardResults } from "./dashboard/results.js";
import { measureEmbedded } from "./embedded/measure.js";
import { measureFence } from "./fence.js";
import { measureHeartbeats } from "./heartbeats.js";
import { measureHerd } from "./herd.js";
import { measureMemory } from "./memory.js";
import { chasedAfterMs, lateAfterMs, runPairs } from "./pairs.js";
import { comparePeers } from "./peers/command.js";
import { measureRedis } from "./redis.js";

const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : 0)} ms`;
const tell = (line: string): void => console.error(line);

async function pairs(connect: string, options: Options): Promise<number> {
  const report = await runPairs({
    connect,
    pairs: options.pairs,
    sessionTimeoutMs: options.sessionTimeoutMs,
    onProgress: ({ done, tookMs }) =>
      tell(`${done} of ${options.pairs} pairs, ${Math.round((done / tookMs) * 1_000)} pairs/s`),
  });
  const { answers, chased, late, unknown } = report;
  console.log(
    `${report.pairs} pairs in ${(report.tookMs / 1_000).toFixed(1)} s: ${Math.round(report.pairsPerSecond)} pairs/s`,
  );
  console.log(
    `${answers.count} answers: p50 ${ms(answers.p50Ms)}, p99 ${ms(answers.p99Ms)}, max ${ms(answers.maxMs)}`,
  );
  console.log(
    `over ${chasedAfterMs} ms, chased with pings: ${chased}; over ${lateAfterMs} ms: ${late}; lost with the connection: ${unknown}`,
  );
  return late === 0 && unknown === 0 ? 0 : 1;
}

async function memory(connect: string, { holds, waiters }: Options): Promise<number> {
  const report = await measureMemory({ connect, holds, waiters, onProgress: tell });
  console.log(`${report.holds} locks held: ${report.bytesPerHold} bytes of heap each`);
  console.log(`${report.waiters} waiters on one lock: ${report.bytesPerWaiter} bytes of heap each`);
  return 0;
}

const aims = { startMs: 50, pairsPerSecond: 10_000, fullBytes: 300e6 } as const;
const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;

async function embedded(options: Options): Promise<number> {
  const { pairs, inFlight, znodes, sessions } = options;
  const report = await measureEmbedded({ pairs, inFlight, znodes, sessions, onProgress: tell });
  const { startMs, leastStartMs, loadMs, pairsPerSecond, empty, full } = report;
  const results = [
    [
      `start: ${ms(startMs)} in the middle, ${ms(leastStartMs)} at best; loading the module before that: ${ms(loadMs)}`,
      `${aims.startMs} ms`,
      startMs <= aims.startMs,
    ],
    [
      `${pairs} pairs of create and delete, ${inFlight} requests in flight: ${Math.round(pairsPerSecond)} pairs/s`,
      `${aims.pairsPerSecond} pairs/s`,
      pairsPerSecond >= aims.pairsPerSecond,
    ],
    [
      `${znodes} nodes and ${sessions} sessions: ${mb(full.rssBytes)} resident, ${mb(full.heapBytes)} of heap; empty ${mb(empty.rssBytes)} and ${mb(empty.heapBytes)}`,
      mb(aims.fullBytes),
      full.rssBytes <= aims.fullBytes,
    ],
  ] as const;
  for (const [what, aim, met] of results) console.log(`${what} (aim ${aim}: ${met ? "met" : "MISSED"})`);
  return results.every(([, , met]) => met) ? 0 : 1;
}

async function dashboard({ longHoldMs, json, ...options }: Options): Promise<number> {
  const { locks, others, streams, phaseMs, historyMegabytes, users, changesPerSecond } = options;
  const report = await measureDashboard({
    locks,
    others,
    streams,
    phaseMs,
    historyMegabytes,
    users,
    ...(changesPerSecond === 0 ? {} : { changesPerSecond }),
    ...(longHoldMs === null ? {} : { longHoldMs }),
    onProgress: tell,
  });
  const results = dashboardResults(report);
  if (json) {
    console.log(JSON.stringify({ ...report, pages: [...report.pages] }));
    return 0;
  }
  for (const { what, aim, met } of results)
    console.log(aim === null ? what : `${what} (aim ${aim}: ${met ? "met" : "MISSED"})`);
  return results.every(({ met }) => met) ? 0 : 1;
}

async function herd(server: string, { waiters }: Options): Promise<number> {
  const report = await measureHerd({ server, waiters, onProgress: tell });
  for (const { what, requests, events, packetsPerHandOff } of report.costs) {
    const drained =
      packetsPerHandOff === null
        ? ""
        : `; while all are served, ${packetsPerHandOff.toFixed(1)} packets for each`;
    console.log(
      `${what}, ${report.waiters} waiting: ${requests} requests and ${events} events for one hand-off${drained}`,
    );
  }
  return 0;
}

async function redis({ pairs, waiters }: Options): Promise<number> {
  tell("starting one Redis");
  const server = await startRedis();
  try {
    const { handOffs, ...report } = await measureRedis({ url: server.url, pairs, waiters, onProgress: tell });
    console.log(
      `${report.pairs} pairs of acquire and release: ${Math.round(report.pairsPerSecond)} pairs/s, one client`,
    );
    console.log(
      `${handOffs.count} hand-offs, ${waiters} clients waiting: p50 ${ms(handOffs.p50Ms)}, p99 ${ms(handOffs.p99Ms)}, max ${ms(handOffs.maxMs)}`,
    );
    return 0;
  } finally {
    await server.stop();
  }
}

async function heartbeats({ holds, waiters, phaseMs }: Options): Promise<number> {
  tell("starting one Redis");
  const server = await startRedis();
  try {
    for (const { what, cpuMs, calls, commands } of await measureHeartbeats({
      server,
      holds,
      waiters,
      phaseMs,
      onProgress: tell,
    })) {
      console.log(
        `${what}, in each second: ${ms(cpuMs)} of the server's processor, ${calls.toFixed(1)} calls with ${Math.round(commands)} commands`,
      );
    }
    return 0;
  } finally {
    await server.stop();
  }
}

async function fence({ database, pairs }: Options): Promise<number> {
  const { serverVersion, costs } = await measureFence({ database, pairs, onProgress: tell });
  console.log(`PostgreSQL ${serverVersion}, ${pairs} transactions of each kind, medians:`);
  for (const { what, updateUs, transactionUs } of costs)
    console.log(
      `${what}: ${Math.round(updateUs)} µs an update, ${Math.round(transactionUs)} µs its transaction`,
    );
  return 0;
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  if (options.command === "help") {
    console.log(help);
    return 0;
  }
  if (options.command === "embedded") return embedded(options);
  if (options.command === "redis") return redis(options);
  if (options.command === "heartbeats") return heartbeats(options);
  if (options.command === "fence") return fence(options);
  if (options.command === "dashboard") return dashboard(options);
  if (options.command === "peers") return comparePeers({ ...options.peers, json: options.json }, tell);
  const work = { pairs, memory, herd }[options.command];
  if (options.connect !== null) return work(options.connect, options);
  tell(`starting ${options.nodes === 1 ? "one server" : `an ensemble of ${options.nodes}`}`);
  const servers =
    options.nodes === 1 ? await startZooKeeper() : await startEnsemble({ nodes: options.nodes });
  try {
    return await work(servers.connectString, options);
  } finally {
    await servers.stop();
  }
}

function complain(error: unknown): number {
  if (error instanceof UsageError) {
    console.error(`bench: ${error.message}\nTry --help`);
    return 2;
  }
  const { message, stack } = error as Error;
  const known = error instanceof HoldfastError || error instanceof TestServerError;
  console.error(`bench: ${known ? message : (stack ?? message)}`);
  return 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.exitCode = complain(error);
}
