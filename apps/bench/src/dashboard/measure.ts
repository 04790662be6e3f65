import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Millis } from "@holdfast/core";
import {
  eventually,
  type RedisNode,
  startRedis,
  startZooKeeper,
  type ZooKeeperNode,
} from "@holdfast/test-servers";
import { Latencies, type LatencySummary } from "../latencies.js";
import { DashboardProcess } from "./dashboard-process.js";
import { fillRedis, pattern, root, ZooKeeperLocks } from "./fill.js";
import type { Inside, ReadersReport } from "./messages.js";

export interface DashboardOptions {
  /** Locks on ZooKeeper, and the same number on Redis. Default 100,000. */
  readonly locks?: number;
  /** Keys on Redis that are no locks. Default 0. */
  readonly others?: number;
  /** Clients of the stream, of which a tenth reads nothing. Default 500; with 0 that part is left out. */
  readonly streams?: number;
  /**
   * How long streams are open. The phases before, with and without a viewer, take as long, but at most 20,000. Default
   * 20,000.
   */
  readonly phaseMs?: Millis;
  /** The age from which on a hold counts as long; if it is short, all holds do. Default: that of the dashboard. */
  readonly longHoldMs?: Millis;
  /** The size of the store of the dashboard's history. Default 0: it keeps none. */
  readonly historyMegabytes?: number;
  /**
   * Viewers with tokens of their own, who share the streams. Default 0: one caller without credentials has all streams.
   */
  readonly users?: number;
  /** The most contenders that come or leave in a second while streams are open. Default: as fast as possible. */
  readonly changesPerSecond?: number;
  readonly onProgress?: (what: string) => void;
}

/** The first phase: until the dashboard reports that it serves. */
export const startPhase = "start";

export interface DashboardPhase extends Inside {
  readonly what: string;
  /** The requests of the dashboard at the backends in a second. Requests of the contenders are subtracted. */
  readonly zookeeperPerSecond: number;
  readonly redisPerSecond: number;
}

export interface DashboardReport {
  readonly locks: number;
  readonly others: number;
  /** The time from the start of its process until all locks were known. */
  readonly zookeeperMs: Millis;
  readonly redisMs: Millis;
  /** How long a viewer waited for a page, by query. */
  readonly pages: ReadonlyMap<string, LatencySummary & { readonly firstMs: Millis }>;
  readonly phases: readonly DashboardPhase[];
  /** The contenders that came and left while streams were open, and what the streams received. */
  readonly streams: {
    readonly clients: number;
    readonly pairs: number;
    readonly received: number;
    readonly least: number;
  } | null;
  /** The store of its history at the end. */
  readonly history: {
    readonly usedBytes: number;
    readonly maxBytes: number;
    readonly dropped: number;
  } | null;
}

interface Locks {
  readonly rows: readonly { readonly id: string }[];
  readonly known: number;
  readonly next: string | null;
}

interface Clusters {
  readonly clusters: readonly { readonly name: string; readonly locks: number; readonly coverage: number }[];
}

const queries = ["", "sort=hold", "sort=wait", "sort=name", "q=*9*&sort=name", "state=held&owner=nobody"];
const rowsOnScreen = 100;
const longestLookMs: Millis = 20_000;

/**
 * Measures the memory of the dashboard's process and how long its event loop stands still, with many locks behind it.
 */
export async function measureDashboard(options: DashboardOptions = {}): Promise<DashboardReport> {
  const { onProgress = () => {} } = options;
  onProgress("starting one ZooKeeper and one Redis");
  const started: (ZooKeeperNode | RedisNode)[] = [];
  try {
    const zookeeper = await startZooKeeper({ heapMb: 1_024 });
    started.push(zookeeper);
    const redis = await startRedis();
    started.push(redis);
    return await new Measuring(options, zookeeper, redis).run();
  } finally {
    await Promise.all(started.map((server) => server.stop()));
  }
}

class Measuring {
  readonly #locks: number;
  readonly #others: number;
  readonly #streams: number;
  readonly #phaseMs: Millis;
  readonly #longHoldMs: Millis | undefined;
  readonly #historyMegabytes: number;
  readonly #tokens: readonly string[];
  readonly #changesPerSecond: number;
  readonly #tell: (what: string) => void;
  readonly #zookeeper: ZooKeeperNode;
  readonly #redis: RedisNode;
  readonly #phases: DashboardPhase[] = [];
  #before: { readonly zookeeper: number; readonly redis: number } = { zookeeper: 0, redis: 0 };

  constructor(options: DashboardOptions, zookeeper: ZooKeeperNode, redis: RedisNode) {
    const { locks = 100_000, others = 0, streams = 500, phaseMs = 20_000, onProgress = () => {} } = options;
    this.#locks = locks;
    this.#others = others;
    this.#streams = streams;
    this.#phaseMs = phaseMs;
    this.#longHoldMs = options.longHoldMs;
    this.#historyMegabytes = options.historyMegabytes ?? 0;
    this.#tokens = Array.from({ length: options.users ?? 0 }, (_, at) => `bench-${at}-0123456789abcdef`);
    this.#changesPerSecond = options.changesPerSecond ?? Number.POSITIVE_INFINITY;
    this.#tell = onProgress;
    this.#zookeeper = zookeeper;
    this.#redis = redis;
  }

  async run(): Promise<DashboardReport> {
    await fillRedis(this.#redis, this.#locks, this.#others);
    await using contenders = await ZooKeeperLocks.make(this.#zookeeper.connectString, this.#locks);
    this.#tell(`${this.#locks} locks on each`);
    this.#before = await this.#asked();
    const beganMs = performance.now();
    await using dashboard = await DashboardProcess.start(
      {
        clusters: [
          {
            name: "zoo",
            zookeeper: {
              connect: this.#zookeeper.connectString,
              roots: [root],
              adminPort: 0,
              maxNodes: 300_000,
            },
          },
          { name: "red", redis: { url: this.#redis.url, patterns: [pattern] } },
        ],
        // One process reads all streams.
        ...(this.#streams === 0 ? {} : { streamsPerCaller: this.#streams }),
        ...(this.#longHoldMs === undefined ? {} : { thresholds: { longHoldMs: this.#longHoldMs } }),
        ...(this.#historyMegabytes === 0
          ? {}
          : { history: { file: "history.db", maxMegabytes: this.#historyMegabytes } }),
      },
      this.#tokens,
    );
    // This phase loads the modules and makes the server; no request is served yet.
    await this.#phase(dashboard, startPhase);
    const known = await this.#sync(dashboard, beganMs);
    await this.#phase(dashboard, "sync");
    await sleep(Math.min(this.#phaseMs, longestLookMs));
    await this.#phase(dashboard, "nobody looks");
    const pages = await this.#view(dashboard);
    await this.#phase(dashboard, "one viewer");
    const streams = this.#streams === 0 ? null : await this.#stream(dashboard, contenders);
    if (streams !== null) await this.#phase(dashboard, `${streams.clients} streams`, 2 * streams.pairs);
    return {
      locks: this.#locks,
      others: this.#others,
      zookeeperMs: known.get("zoo") as Millis,
      redisMs: known.get("red") as Millis,
      pages,
      phases: this.#phases,
      streams,
      history: (await dashboard.get<{ history: DashboardReport["history"] }>("api/v1/history")).history,
    };
  }

  /** `others`: requests at ZooKeeper that did not come from the dashboard. */
  async #phase(dashboard: DashboardProcess, what: string, others = 0): Promise<void> {
    const inside = await dashboard.inside();
    const { zookeeper, redis } = await this.#asked();
    this.#phases.push({
      what,
      ...inside,
      zookeeperPerSecond: (1_000 * (zookeeper - this.#before.zookeeper - others)) / inside.forMs,
      redisPerSecond: (1_000 * (redis - this.#before.redis)) / inside.forMs,
    });
    this.#before = { zookeeper, redis };
    this.#tell(what);
  }

  /** How many requests each server has had. */
  async #asked(): Promise<{ readonly zookeeper: number; readonly redis: number }> {
    const number = (text: string, line: RegExp): number => Number(line.exec(text)?.[1] ?? Number.NaN);
    const [words, info] = await Promise.all([
      this.#zookeeper.fourLetter("mntr"),
      this.#redis.command("INFO", "stats"),
    ]);
    return {
      zookeeper: number(words, /^zk_packets_received\s+(\d+)/m),
      redis: number(String(info), /^total_commands_processed:(\d+)/m),
    };
  }

  async #sync(dashboard: DashboardProcess, beganMs: Millis): Promise<Map<string, Millis>> {
    const knownMs = new Map<string, Millis>();
    await eventually(
      async () => {
        const { clusters } = await dashboard.get<Clusters>("api/v1/clusters");
        for (const { name, locks, coverage } of clusters)
          if (locks === this.#locks && coverage === 1 && !knownMs.has(name))
            knownMs.set(name, performance.now() - beganMs);
        return knownMs.size === 2;
      },
      { what: "all locks known", withinMs: 300_000, everyMs: 50 },
    );
    return knownMs;
  }

  /** Asks as the page does: a stream of the rows on screen, and pages, one after the other. */
  async #view(dashboard: DashboardProcess): Promise<DashboardReport["pages"]> {
    const { rows } = await dashboard.get<Locks>("api/v1/locks");
    await using _ = await Readers.open(dashboard, rows.slice(0, rowsOnScreen), 1, false, this.#tokens);
    const pages = new Map<string, { latencies: Latencies; firstMs: Millis }>();
    const endMs = performance.now() + Math.min(this.#phaseMs, longestLookMs);
    do {
      for (const query of queries) {
        const { latencies } = pages.get(query) ?? { latencies: new Latencies() };
        let cursor: string | null = "";
        for (let page = 0; page < 3 && cursor !== null; page++) {
          const askedMs = performance.now();
          const { known, next }: Locks = await dashboard.get<Locks>(
            `api/v1/locks?${query}${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
          );
          const tookMs = performance.now() - askedMs;
          if (known !== 2 * this.#locks) throw new Error(`the list knows ${known} locks`);
          latencies.add(tookMs);
          if (!pages.has(query)) pages.set(query, { latencies, firstMs: tookMs });
          cursor = next;
        }
      }
      await dashboard.get(`api/v1/locks/${rows[0]?.id}`);
      await dashboard.get("api/v1/overview");
      await dashboard.get("api/v1/findings");
      await dashboard.get("api/v1/sessions");
      await dashboard.get("api/v1/waits");
      await dashboard.get("metrics");
    } while (performance.now() < endMs);
    return new Map(
      [...pages].map(([query, { latencies, firstMs }]) => [query, { ...latencies.summary(), firstMs }]),
    );
  }

  async #stream(
    dashboard: DashboardProcess,
    contenders: ZooKeeperLocks,
  ): Promise<DashboardReport["streams"]> {
    const { rows } = await dashboard.get<Locks>("api/v1/locks?cluster=zoo&sort=name");
    const shown = rows.slice(0, rowsOnScreen);
    await using readers = await Readers.open(dashboard, shown, this.#streams, true, this.#tokens);
    this.#tell(`${this.#streams} streams are open`);
    await dashboard.inside();
    this.#before = await this.#asked();
    const endMs = performance.now() + this.#phaseMs;
    const perSecond = this.#changesPerSecond / 2;
    const pairs = await contenders.churn(rowsOnScreen, perSecond, () => performance.now() < endMs);
    return { clients: this.#streams, pairs, ...(await readers.report()) };
  }
}

/** Readers of the dashboard's stream, in a process of their own. */
class Readers implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async open(
    { url }: DashboardProcess,
    rows: readonly { readonly id: string }[],
    count: number,
    stalling: boolean,
    tokens: readonly string[],
  ): Promise<Readers> {
    const asked = `${url}api/v1/events?rows=${rows.map(({ id }) => id).join()}&overview=1&findings=1`;
    const program = fileURLToPath(new URL("./readers.js", import.meta.url));
    const child = fork(program, [asked, String(count), stalling ? "stalling" : "", ...tokens], {
      execArgv: [],
    });
    await told<string>(child);
    return new Readers(child);
  }

  async report(): Promise<ReadersReport> {
    const answer = told<ReadersReport>(this.#child);
    this.#child.send("report");
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    if (this.#child.connected) this.#child.disconnect();
    await ended;
  }
}

function told<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`the readers ended with ${code}`));
    child.once("exit", ended);
    child.once("message", (message) => {
      child.off("exit", ended);
      resolve(message as T);
    });
  });
}
