import { type DashboardReport, startPhase } from "./measure.js";

export interface Result {
  readonly what: string;
  /** `null` for a figure without an aim. */
  readonly aim: string | null;
  readonly met: boolean;
}

const aims = {
  rssMb: 500,
  stallMs: 100,
  zookeeperMs: 5_000,
  redisMs: 10_000,
  amongOthersMs: 90_000,
  pageMs: 300,
};

const mb = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;
const whole = (ms: number): string => `${ms.toFixed(0)} ms`;

/** The measured figures, each with its aim. */
export function dashboardResults(report: DashboardReport): readonly Result[] {
  const { locks, others, pages, phases, streams, history } = report;
  const results: Result[] = [];
  const timed = (what: string, ms: number, aimMs: number): void => {
    results.push({ what: `${what}: ${whole(ms)}`, aim: whole(aimMs), met: ms < aimMs });
  };
  timed(`${locks} locks on ZooKeeper known after`, report.zookeeperMs, aims.zookeeperMs);
  const among = others === 0 ? "" : ` among ${others} other keys`;
  timed(
    `${locks} locks on Redis${among} known after`,
    report.redisMs,
    others === 0 ? aims.redisMs : aims.amongOthersMs,
  );
  for (const [query, { count, firstMs, p50Ms, p99Ms }] of pages) {
    timed(
      `page of locks?${query}, first ${whole(firstMs)}, p99 ${whole(p99Ms)} of ${count}, in the middle`,
      p50Ms,
      aims.pageMs,
    );
  }
  for (const { what, rssBytes, highestBytes, heapBytes, externalBytes, ...loop } of phases) {
    results.push({
      what: `${what}: ${mb(rssBytes)} resident, ${mb(highestBytes)} at most; heap ${mb(heapBytes)}, external ${mb(externalBytes)}`,
      aim: `${aims.rssMb} MB`,
      met: highestBytes < aims.rssMb * 2 ** 20,
    });
    results.push({
      what: `${what}: longest work between two turns ${whole(loop.longestWorkMs)}, ${loop.over20} over 20 ms; by the clock ${whole(loop.longestWallMs)}, as a delay of the loop ${whole(loop.delayMs)}, of the garbage collector ${whole(loop.longestGcMs)}`,
      aim: what === startPhase ? null : whole(aims.stallMs),
      met: what === startPhase || loop.longestWorkMs < aims.stallMs,
    });
    results.push({
      what: `${what}: ${((100 * loop.cpuMs) / loop.forMs).toFixed(1)} % of a core for ${(loop.forMs / 1_000).toFixed(0)} s; ${loop.zookeeperPerSecond.toFixed(0)} requests/s at ZooKeeper, ${loop.redisPerSecond.toFixed(0)} commands/s at Redis`,
      aim: null,
      met: true,
    });
  }
  if (streams !== null) {
    const { clients, pairs, received, least } = streams;
    results.push({
      what: `${clients} streams, a tenth of them stalled, with ${pairs} contenders that came and left: ${mb(received)} received, ${least} pieces by the slowest who reads`,
      aim: null,
      met: true,
    });
  }
  if (history !== null) {
    const { usedBytes, maxBytes, dropped } = history;
    results.push({
      what: `history: ${mb(usedBytes)} in its file, ${dropped} changes not recorded`,
      aim: `${mb(maxBytes)}, 0`,
      met: usedBytes <= maxBytes && dropped === 0,
    });
  }
  return results;
}
