import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import type { Finding, LockCollector, ObservedServer } from "@holdfast/collectors";
import { shownName, span } from "@holdfast/collectors/internal";
import { AcquireTimeoutError, type LockProvider } from "@holdfast/core";
import type { Settings } from "../settings.js";
import { addressOf, lockKeys, openCollector, openProvider, serversOf } from "./place.js";
import { wholeList } from "./reading.js";
import { bornMs } from "./words.js";

/** One step of `holdfast doctor`. */
export interface Check {
  readonly name: string;
  readonly status: "ok" | "warning" | "failed";
  readonly found: string;
  /** `null` if there is nothing to do. */
  readonly advice: string | null;
}

const answerMs = 5_000;
const lookups = 5;
const slowMs = 100;
/** With a greater skew, the ages of locks are wrong, and so are the times that clients write by their own clocks. */
const skewFromMs = 2_000;
/** The same lock name in every run, so that what a server keeps of it for a while is there only once. */
export const probeName = "holdfast-doctor";

/** All checks, one after the other. A check that needs a failed step is left out. */
export async function* checksOf(
  settings: Settings,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<Check> {
  yield ok("configuration", addressOf(settings));
  let answers = false;
  for (const server of serversOf(settings)) {
    for await (const check of reach(server)) {
      yield check;
      answers ||= check.name === "port" && check.status === "ok";
    }
  }
  if (!answers || signal.aborted) return;

  const warned: Check[] = [];
  const locks = await openProvider(settings);
  locks.events.on("server-warning", ({ message, code }) => {
    warned.push({
      name: code === "HF_MISSING_RIGHT" ? "rights" : "server",
      status: "warning",
      found: message,
      advice: null,
    });
  });
  const collector = await openCollector(settings, await lockKeys(settings, name));
  try {
    yield* withLocks({ settings, name, locks, collector, signal }, warned);
  } finally {
    await Promise.all([locks.close(), collector.close()]);
  }
}

/** What the steps after the port checks need. */
interface Bench {
  readonly settings: Settings;
  /** The name of the lock that is tried. */
  readonly name: string;
  readonly locks: LockProvider;
  readonly collector: LockCollector;
  readonly signal: AbortSignal;
}

async function* withLocks(bench: Bench, warned: readonly Check[]): AsyncGenerator<Check> {
  const { settings, name, locks, collector, signal } = bench;
  // The collector connects by itself. Before that its servers report nothing; if it cannot connect, they report why.
  const unseen = wholeList(collector, addressOf(settings), signal).then(
    (lacking) => lacking.map((text) => warning("list", text, "holdfast ls shows less than there is")),
    (error: Error) => [warning("list", error.message, adviceOf(error))],
  );
  try {
    await locks.ready({ signal });
  } catch (error) {
    if (signal.aborted) return;
    const why = error as Error & { readonly rights?: readonly string[] };
    yield failed(why.name === "MissingRightError" ? "rights" : "connection", why.message, adviceOf(why));
    await unseen;
    yield* serverChecks(collector);
    return;
  }
  yield ok("connection", "the servers take the credentials and serve");
  yield* await unseen;
  yield* serverChecks(collector);
  if (signal.aborted) return;

  const times: number[] = [];
  const mutex = locks.mutex(name);
  try {
    for (let at = 0; at < lookups; at++) {
      const beganMs = performance.now();
      await mutex.inspect();
      times.push(performance.now() - beganMs);
    }
  } catch (error) {
    yield failed(
      "latency",
      (error as Error).message,
      "see the steps above; without answers no lock is granted",
    );
    return;
  }
  const median = times.sort((a, b) => a - b)[Math.floor(lookups / 2)] as number;
  const latency = `${span(median)} is the median of ${lookups} reads`;
  yield median < slowMs
    ? ok("latency", latency)
    : warning(
        "latency",
        latency,
        "run close to the servers, or give leases and time-outs that are many times as long",
      );

  yield* probe(bench);
  for (const check of warned) if (!isToldByServers(check)) yield check;
}

/** Checks that the name of the host resolves and that its port answers. */
async function* reach({
  host,
  port,
}: {
  readonly host: string;
  readonly port: number;
}): AsyncGenerator<Check> {
  const named = `${host}:${port}`;
  try {
    const { address } = await lookup(host);
    yield ok("name", address === host ? `${host} is an address` : `${host} is ${address}`);
  } catch (error) {
    yield failed(
      "name",
      `${host}: ${(error as Error).message}`,
      "correct the name in the configuration, or the DNS of this machine",
    );
    return;
  }
  const beganMs = performance.now();
  const why = await new Promise<string | null>((resolve) => {
    const socket = connect({ host, port });
    socket.setTimeout(answerMs);
    const done = (text: string | null): void => {
      socket.destroy();
      resolve(text);
    };
    socket.once("connect", () => done(null));
    socket.once("timeout", () => done(`no answer within ${answerMs / 1_000} s`));
    socket.once("error", (error: NodeJS.ErrnoException) =>
      done(error.code === "ECONNREFUSED" ? "the connection was refused" : error.message),
    );
  });
  yield why === null
    ? ok("port", `${named} answers after ${span(performance.now() - beganMs)}`)
    : failed(
        "port",
        `${named}: ${why}`,
        "start the server, correct the port, or let it through the firewall",
      );
}

/** Checks what each server reports about itself. */
async function* serverChecks(collector: LockCollector): AsyncGenerator<Check> {
  let servers: readonly ObservedServer[];
  try {
    servers = await collector.servers();
  } catch (error) {
    yield warning("server", (error as Error).message, "what the servers say of themselves is not known");
    return;
  }
  const findings = collector.findings().filter(({ object }) => servers.some(({ name }) => name === object));
  for (const server of servers) yield* serverCheck(collector.backend, server, findings);
}

function* serverCheck(
  backend: LockCollector["backend"],
  { name, role, version, reachable, facts }: ObservedServer,
  findings: readonly Finding[],
): Generator<Check> {
  const fact = (wanted: string): string | undefined => facts.find(({ name }) => name === wanted)?.value;
  if (!reachable) {
    yield warning(
      "server",
      `${name} does not answer: ${fact("not reachable") ?? fact("not reported") ?? "no answer"}`,
      "see why this server is down; the others have to do without it",
    );
    return;
  }
  if (version === null && backend === "zookeeper") {
    yield warning(
      "version",
      `${name} does not tell its version: ${fact("not reported") ?? "no answer"}`,
      "put srvr on 4lw.commands.whitelist of the server, or start its AdminServer",
    );
  } else yield versionCheck(backend, name, role, version);
  if (backend === "redis" && role === "replica")
    yield failed(
      "role",
      `${name} is a replica of ${fact("follows") ?? "another server"}`,
      "locks need the master: name it, or its sentinels",
    );
  for (const { name: what, value, warning: bad } of facts) {
    if (!bad || saidByFinding.has(what) || what === "not reported") continue;
    yield warning(
      "server",
      `${name}: ${what} is ${value}`,
      factAdvice[what] ?? "see what the server's log says of it",
    );
  }
  for (const { kind, severity, evidence, advice } of findings.filter(({ object }) => object === name)) {
    yield {
      name: kind === "clock-skew" ? "clock" : "server",
      status: severity === "info" ? "ok" : "warning",
      found: `${name}: ${evidence}`,
      advice,
    };
  }
  if (backend !== "redis" || role === "sentinel") return;
  if (fact("eviction policy") === "noeviction") yield ok("eviction", `${name}: noeviction`);
  const aof = fact("append only file");
  if (aof === undefined) return;
  yield aof === "on"
    ? ok("persistence", `${name}: the append only file is on`)
    : warning(
        "persistence",
        `${name}: the append only file is off, so that a restart of the server forgets locks that are held`,
        "CONFIG SET appendonly yes, with appendfsync always where a wrong grant must not happen; or keep the server down for a lease after a crash",
      );
}

/** Facts that are skipped here, because a finding says the same with more detail. */
const saidByFinding: ReadonlySet<string> = new Set(["eviction policy", "AdminServer", "clock"]);

const factAdvice: Readonly<Record<string, string>> = {
  "link to the master": "see why the replica has no contact with its master: a failover to it loses locks",
  "keys evicted":
    "the server has thrown keys away, locks perhaps among them: set maxmemory-policy noeviction",
  "behind the newest": "see why this server lags behind its leader",
  "sees it as": "the sentinel takes the master for down: see the sentinel's log",
  "other sentinels": "fewer sentinels are there than the quorum needs: no failover happens",
};

function versionCheck(
  backend: LockCollector["backend"],
  name: string,
  role: ObservedServer["role"],
  version: string | null,
): Check {
  const text = `${name} is ${backend === "redis" ? "Redis" : "ZooKeeper"} ${version ?? "of an unknown version"}, ${role}`;
  if (version === null || backend === "redis") return ok("version", text);
  if (isBefore(version, [3, 5, 1]))
    return failed("version", text, "holdfast needs ZooKeeper 3.5.1 or later: update the servers");
  if (isBefore(version, [3, 6, 0]))
    return warning(
      "version",
      `${text}: it has no lasting watches, so that ls and watch ask again and again`,
      "update to 3.6 or later",
    );
  return ok("version", text);
}

function isBefore(version: string, wanted: readonly number[]): boolean {
  const parts = version.split(/[.-]/).map(Number);
  for (const [at, least] of wanted.entries()) {
    const part = parts[at] ?? 0;
    if (Number.isNaN(part)) return false;
    if (part !== least) return part < least;
  }
  return false;
}

/** Takes the lock and releases it. Reads the server's time while the lock is held. */
async function* probe(bench: Bench): AsyncGenerator<Check> {
  const { name, locks } = bench;
  const beganMs = performance.now();
  try {
    const askedMs = Date.now();
    const handle = await locks.mutex(name).acquire({ waitMs: answerMs });
    const grantedMs = Date.now();
    const tookMs = performance.now() - beganMs;
    const clock = await serverAheadMs(bench, (askedMs + grantedMs) / 2).then(
      (aheadMs) => (aheadMs === null ? [] : [clockCheck(aheadMs)]),
      (error: Error) => [
        warning("clock", `the server's time was not read: ${error.message}`, "ages of locks may be wrong"),
      ],
    );
    await handle.release();
    yield ok("lock", `the lock ${shownName(name)} was granted after ${span(tookMs)}, and given back`);
    yield* clock;
  } catch (error) {
    const { message } = error as Error;
    yield error instanceof AcquireTimeoutError
      ? warning("lock", message, `another client holds it: holdfast show ${shownName(name)} says who`)
      : failed("lock", message, adviceOf(error as Error));
  }
}

function clockCheck(aheadMs: number): Check {
  const text = `the server's clock is ${span(Math.abs(aheadMs))} ${aheadMs < 0 ? "behind" : "ahead of"} this machine's`;
  return Math.abs(aheadMs) < skewFromMs
    ? ok("clock", text)
    : warning(
        "clock",
        text,
        "let both follow the same time source: ages of locks are wrong by as much, and so are deadlines of Redisson's clients",
      );
}

/**
 * How far the server's clock is ahead, in milliseconds; `null` if the server's time is not known. On ZooKeeper it is
 * the time at which the lock's node was made, on Redis the time that comes with the lock's data.
 */
async function serverAheadMs({ settings, name, collector }: Bench, middleMs: number): Promise<number | null> {
  for (const key of await lockKeys(settings, name)) {
    const sentMs = Date.now();
    const lock = await collector.detail(key, { maxWaiters: 1 });
    if (lock === null) continue;
    const time = lock.raw.find(({ name }) => name === "TIME")?.value;
    if (time !== undefined) return Date.parse(time) - (sentMs + Date.now()) / 2;
    const [holder] = lock.holders;
    const ctime = holder === undefined ? null : bornMs(lock, holder);
    return ctime === null ? null : ctime - middleMs;
  }
  return null;
}

/** The collector says the same of each server, with more detail. */
function isToldByServers({ found }: Check): boolean {
  return found.includes("maxmemory-policy");
}

function adviceOf(error: Error & { readonly rights?: readonly string[] }): string {
  if (error.rights !== undefined) return `ACL SETUSER ... ${error.rights.join(" ")}`;
  if (error.name === "ServerTooOldError") return "update the server";
  if (error.name === "ClusterNodeError")
    return "give the nodes of the cluster in the configuration, not one server";
  if (/NoAuth|NOAUTH|WRONGPASS|credentials/i.test(error.message))
    return "correct the credentials in the configuration, or grant their rights at the server";
  return "see the steps above, and the log of the server";
}

function ok(name: string, found: string): Check {
  return { name, status: "ok", found, advice: null };
}

function warning(name: string, found: string, advice: string): Check {
  return { name, status: "warning", found, advice };
}

function failed(name: string, found: string, advice: string): Check {
  return { name, status: "failed", found, advice };
}
