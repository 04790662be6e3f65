import { type DashboardConfig, type RunningDashboard, startDashboard } from "@holdfast/dashboard";
import { findRedis, startEmbeddedZooKeeper, startRedis } from "@holdfast/test-servers";
import { BranchProcess } from "./branch-process.js";
import { type BranchJob, redisPrefix } from "./messages.js";
import { usualPort } from "./options.js";

export interface DayOptions {
  /** The folder of `branch.js`. */
  readonly programs: URL;
  /** `null`: the usual port, or a free one if that is taken. */
  readonly port: number | null;
  /** Called with a line for each server: its address, or that there is none. */
  readonly tell: (line: string) => void;
  /** Ends the opening early. */
  readonly signal: AbortSignal;
}

const shop: readonly Pick<BranchJob, "name" | "duty">[] = [
  ...["north", "south", "east", "west"].map((name) => ({ name, duty: "branch" as const })),
  { name: "headquarters", duty: "headquarters" },
  ...["office-1", "office-2", "office-3"].map((name) => ({ name, duty: "office" as const })),
];
/** A server of our own lets sessions be short, so that the shop does not wait long for the end of one. */
const tickTimeMs = 500;
/** Short, so that a stocktaking is reported as a finding. */
const longHoldMs = 15_000;

/** The servers, the shop and the dashboard. Disposing releases every lock and ends all of them. */
export class Day implements AsyncDisposable {
  readonly url: string;
  /** Rejects when a part of the shop ends by itself. */
  readonly failed: Promise<never>;
  readonly #closing: Closing;

  private constructor(opened: Opened, closing: Closing) {
    this.url = opened.url;
    this.failed = opened.failed;
    this.#closing = closing;
  }

  static async open(options: DayOptions): Promise<Day> {
    const closing: Closing = [];
    try {
      return new Day(await openAll(options, closing), closing);
    } catch (error) {
      await closeAll(closing);
      throw error;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return closeAll(this.#closing);
  }
}

/** The steps that close what was opened, in the order of the opening. */
type Closing = (() => Promise<unknown>)[];
type Opened = Pick<Day, "url" | "failed">;

async function closeAll(closing: Closing): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

async function openAll({ programs, port, tell, signal }: DayOptions, closing: Closing): Promise<Opened> {
  const zookeeper = await startEmbeddedZooKeeper({ tickTimeMs, words: "all" });
  closing.push(() => zookeeper.stop());
  tell(`ZooKeeper at ${zookeeper.connectString}, inside this process`);
  const redis = findRedis() === undefined ? null : await startRedis();
  if (redis !== null) closing.push(() => redis.stop());
  tell(redis === null ? "No Redis: no redis-server is installed" : `Redis at ${redis.url}, started for this`);
  signal.throwIfAborted();

  const clusters: DashboardConfig["clusters"] = [
    {
      name: "zookeeper",
      zookeeper: { connect: zookeeper.connectString, roots: ["/holdfast"], adminPort: 0 },
    },
  ];
  if (redis !== null) {
    clusters.push({ name: "redis", redis: { url: redis.url, patterns: [`${redisPrefix}*`] } });
  }
  const dashboard = await listen(port, { actions: true, thresholds: { longHoldMs }, clusters });
  closing.push(() => dashboard.close());

  const jobs = shop.map((part) => ({
    ...part,
    zookeeper: zookeeper.connectString,
    redis: redis?.url ?? null,
  }));
  const processes = jobs.map((job) => new BranchProcess(new URL("branch.js", programs), job));
  closing.push(async () => {
    await Promise.all(processes.map((process) => process.end()));
  });
  await Promise.all(processes.map((process) => process.ready()));
  signal.throwIfAborted();
  const failed = Promise.race(processes.map((process) => process.failed));
  // The program that shows the day waits for `failed`; until then a rejection must not end that program.
  failed.catch(() => {});
  return { url: dashboard.url, failed };
}

async function listen(port: number | null, config: DashboardConfig): Promise<RunningDashboard> {
  const at = (port: number): DashboardConfig => ({ ...config, listen: { host: "127.0.0.1", port } });
  if (port !== null) return startDashboard(at(port));
  try {
    return await startDashboard(at(usualPort));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    return startDashboard(at(0));
  }
}
