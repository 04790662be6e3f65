import type { PlannedFault, Scenario, WorkerGroup } from "../engine/scenario.js";
import { javaScenarios } from "./java.js";
import { machineScenarios } from "./machine.js";
import { momentScenarios } from "./moments.js";
import { networkScenarios } from "./network.js";
import { redisScenarios } from "./redis.js";
import { replicatedScenarios } from "./redis-replicated.js";
import { safeScenarios } from "./redis-safe.js";
import { zookeeperScenarios } from "./zookeeper.js";
import { ensembleScenarios } from "./zookeeper-ensemble.js";

/** The differences between a twin and the scenario after which it is named. Everything else is the same. */
interface Twin {
  /** Whether it is also in the short run, in the place of that scenario. */
  readonly smoke?: true;
  /** Short holds, so that a fault hits the keeping before its owner comes again. With long holds it would hit a hold. */
  readonly holdMs?: WorkerGroup["holdMs"];
  /** The number of workers in each group; default: that of the scenario, at most 3. */
  readonly count?: number;
  /** The contenders in each process. Default 1. */
  readonly contenders?: number;
  readonly restMs?: number;
  /** Default: that of the scenario, at least 4 s. */
  readonly runMs?: number;
  /**
   * The lease, in milliseconds. Redis keeps a lock for a third of it. That has to be longer than a wish may take, or a
   * wish that is not noticed would not show.
   */
  readonly leaseMs?: number;
  readonly handoverLimitMs?: number;
  /** See `CheckOptions.excuses`; default that of the scenario. */
  readonly excuses?: boolean;
  readonly minGrants?: number;
}

/**
 * For twins of scenarios without a fault. If a waiter's wish is noticed, the waiter gets a kept lock long before the
 * last holder asks again, and before the lease ends.
 */
const wished: Twin = {
  count: 4,
  holdMs: [60, 120],
  restMs: 8_000,
  runMs: 16_000,
  leaseMs: 8_000,
  handoverLimitMs: 2_000,
};
/** For twins of scenarios whose faults hit a lock that is held for seconds. */
const short: Twin = { holdMs: [10, 50], minGrants: 10 };
/** For twins of scenarios that hit a holder in the middle of its work, which has to last for a while. */
const atWork: Twin = { holdMs: [50, 70], restMs: 3_000, runMs: 8_000 };
/** Several owners in each process, which wait for each other in its memory. */
const together: Twin = { count: 2, contenders: 4 };
/** For twins of scenarios that hit a waiter: at times two workers must want the lock, and at other times only its keeper. */
const waited: Twin = { restMs: 1_600, runMs: 9_000 };
/** A third worker would want the lock nearly all the time, so that nothing would be kept. */
const calm: Twin = { count: 2, restMs: 2_000, runMs: 6_000 };
/** Of the two releases of a nested hold, only one frees the lock. */
const nested: Twin = { count: 2, contenders: 2 };

/**
 * The scenarios of exclusive locks that have a twin. Of the others some expect two holders or hold for long, and some
 * are about shared locks only. In Z16 Curator's tokens stand beside ours, which then have no turns.
 */
const twins: Readonly<Record<string, Twin>> = {
  Z01: together,
  Z02: {},
  Z03f: atWork,
  Z04: short,
  Z05: short,
  Z10: {},
  Z11: { count: 4, contenders: 2, restMs: 0 },
  Z12: waited,
  Z06: {},
  Z07: {},
  Z09: {},
  Z08: {},
  Z08b: short,
  Z15: calm,
  "Z15-clients": { ...calm, runMs: 8_000 },
  R02: {},
  R03f: { ...atWork, smoke: true },
  R10: {},
  R17: short,
  // A wish that is not noticed costs up to a third of the lease.
  R18: { count: 4, restMs: 3_000, leaseMs: 24_000, handoverLimitMs: 3_500, excuses: true },
  R21: {},
  R08: {},
  "R08-short": calm,
  R20: {},
  "zk-mutex-none": wished,
  "zk-read-write-none": {},
  "zk-reentrant-none": nested,
  "zk-mutex-waiter-killed": waited,
  "zk-mutex-cut-off": short,
  "zk-mutex-late": short,
  "redis-mutex-none": { ...wished, leaseMs: 24_000 },
  "redis-read-write-none": {},
  "redis-reentrant-none": nested,
  "redis-mutex-waiter-killed": waited,
  "redis-mutex-cut-off": short,
  "redis-mutex-late": short,
};

/**
 * Neither `keepMs` nor `maxKeepMs` ends a keeping within a run (on Redis `keepMs` is a third of the lease). So a lock
 * that is given back too late, or not at all, shows. Few workers take a key several times in a row and then rest,
 * because a lock that others want all the time is not kept.
 */
const keeps = { keepMs: 20_000, turns: 8, restMs: 1_500, reads: 0.1, downgrades: 0.1 } as const;
const mostWorkers = 3;
const leastRunMs = 4_000;

function twin(scenario: Scenario, own: Twin): Scenario {
  const { smoke, count, contenders = 1, holdMs, restMs, runMs = leastRunMs, leaseMs, ...limits } = own;
  const { expect, plan, keys, groups } = scenario;
  const endsSessions = scenario.faults.includes("session ended at the server");
  const loose = (name: string): boolean =>
    // Their queue entries contain no names from which an observer could know the queue.
    name === "fifo" ||
    // Until the news arrives, the next owner gets the token of a session that is over; the resource refuses it.
    (endsSessions && name === "fence-order");
  return {
    ...scenario,
    id: `${scenario.id}-kept`,
    title: `${scenario.title}; locks are kept`,
    tags: [...(smoke === true ? ["smoke" as const] : []), ...scenario.tags.filter((tag) => tag !== "smoke")],
    keys: Object.fromEntries(
      Object.entries(keys).map(([id, key]) => [id, leaseMs === undefined ? key : { ...key, leaseMs }]),
    ),
    groups: groups.map((group) => ({
      ...group,
      count: count ?? Math.min(group.count, mostWorkers),
      contenders,
      pauseMs: [0, 20],
      ...(holdMs !== undefined && { holdMs }),
      options: { ...group.options, ...keeps, ...(restMs !== undefined && { restMs }) },
    })),
    runMs: Math.max(runMs, scenario.runMs),
    plan: (random, lastsMs) => plan(random, lastsMs).flatMap(atKeeper),
    expect: {
      ...expect,
      pass: expect.pass.filter((name) => !loose(name)),
      report: [...(expect.report ?? []), ...expect.pass.filter(loose)],
      figures: {
        // A kept lock that is lost while no owner holds it causes no `lost` event. So figures with a least number of
        // losses do not fit.
        ...Object.fromEntries(
          Object.entries(expect.figures ?? {}).filter(([, { least }]) => least === undefined),
        ),
        "stats.kept": { least: 1 },
      },
    },
    // If there are several keys, one of them may not be asked for within ten seconds.
    check: { ...scenario.check, healLimitMs: 30_000, ...limits },
    mode: `${scenario.mode}, kept`,
  };
}

/**
 * Directs a fault of a holder at the worker that keeps the lock: between two owners, or while the next one holds. A
 * fault of a holder in the middle of its work stays as it is, and two faults of keepers follow it.
 */
function atKeeper(planned: PlannedFault): readonly PlannedFault[] {
  // Resting clients may get no message during a whole run.
  if (planned.fault === "redis.deafen") return [{ ...planned, options: { ...planned.options, quiet: true } }];
  const target = planned.target?.replace(/^holder\(/, "keeper(");
  if (target === planned.target || target === undefined) return [planned];
  if (planned.options?.working !== true) return [{ ...planned, target }];
  const { fault, forMs = 0 } = planned;
  const next = [1, 2].map((nth) => ({ fault, target, after: `ended(${fault}, ${nth})`, atMs: 500, forMs }));
  return [planned, ...next];
}

const all = [
  ...zookeeperScenarios,
  ...ensembleScenarios,
  ...redisScenarios,
  ...replicatedScenarios,
  ...safeScenarios,
  ...networkScenarios,
  ...machineScenarios,
  ...javaScenarios,
  ...momentScenarios,
];

/** The scenarios of exclusive locks once more, with clients that keep the locks which they give back: named `<scenario>-kept`. */
export const keptScenarios: readonly Scenario[] = all.flatMap((scenario) => {
  const own = twins[scenario.id];
  return own === undefined ? [] : [twin(scenario, own)];
});
