import type { Scenario } from "../engine/scenario.js";
import { fencedOff, ours, repeated, safe, sharedKeys, sharers, three } from "./zookeeper-groups.js";

/** Locks other than a mutex: shared ones, and one that an owner may hold twice. */
const ofMany = {
  s: { kind: "semaphore", backend: "zookeeper", limit: 3, leaseMs: 4_000 },
  rw: { kind: "read-write", backend: "zookeeper", fenced: true, leaseMs: 4_000 },
  re: { kind: "reentrant", backend: "zookeeper", fair: true, fenced: true, leaseMs: 4_000 },
} as const satisfies Scenario["keys"];

/** Scenarios on an ensemble of three. */
export const ensembleScenarios: readonly Scenario[] = [
  {
    id: "Z06",
    title: "The leader dies three times: no session is lost, and the next grant comes soon",
    tags: ["smoke", "full"],
    topology: three,
    keys: sharedKeys(6_000),
    groups: sharers,
    runMs: 5_000,
    plan: () =>
      repeated(3, (at) => ({
        fault: "zk.kill",
        target: "leader",
        ...(at === 0 ? {} : { after: `ended(zk.kill, ${at})` }),
        atMs: 700,
        forMs: 500,
      })),
    expect: {
      pass: [...safe, "rw", "permits"],
      // A release that waits for longer than the lease, because an election took that long, ends as lost. Holders do not.
      figures: { "lost-notice.judged": { most: 0 }, "stats.longestGapMs": { most: 6_000 } },
    },
    faults: ["leader killed"],
    mode: "ours",
  },
  {
    id: "Z07",
    title: "The leader stands still and goes on: another takes over, no session is lost",
    tags: ["full"],
    topology: three,
    keys: sharedKeys(9_000),
    groups: sharers,
    runMs: 8_000,
    plan: () => [{ fault: "zk.pause", target: "leader", atMs: 1_000, forMs: 5_000 }],
    expect: { pass: [...safe, "rw", "permits"], figures: { "lost-notice.judged": { most: 0 } } },
    faults: ["leader paused"],
    mode: "ours",
  },
  {
    id: "Z09",
    title: "Server after server is restarted, then all stop for a while: sessions are kept",
    tags: ["full"],
    topology: three,
    keys: sharedKeys(9_000),
    groups: sharers,
    runMs: 10_000,
    plan: () => [
      { fault: "zk.restart", target: "zk1", atMs: 500 },
      { fault: "zk.restart", target: "zk2", after: "ended(zk.restart, 1)", atMs: 500 },
      { fault: "zk.restart", target: "zk3", after: "ended(zk.restart, 2)", atMs: 500 },
      { fault: "zk.kill", target: "all", after: "ended(zk.restart, 3)", atMs: 1_000, forMs: 1_500 },
    ],
    expect: { pass: [...safe, "rw", "permits"] },
    faults: ["servers restarted", "all servers killed"],
    mode: "ours",
  },
  {
    id: "Z14",
    title: "Semaphore, read-write, re-entrant and multi-lock while workers die and the leader is killed",
    tags: ["full"],
    topology: three,
    keys: {
      ...ofMany,
      mu: { kind: "multi", backend: "zookeeper", leaseMs: 4_000 },
    },
    groups: [
      ours("s", 3, ["s"], { contenders: 2, options: { permits: 2 }, holdMs: [20, 60], proxied: true }),
      ours("b", 3, ["rw", "re"], { contenders: 2, holdMs: [20, 60], proxied: true }),
      ours("m", 2, ["mu"], { contenders: 2, holdMs: [20, 60], proxied: true }),
    ],
    runMs: 9_000,
    plan: () => [
      { fault: "worker.kill", target: "holder(re)", after: "granted(re, 5)", atMs: 1_500, forMs: 500 },
      { fault: "worker.kill", target: "holder(s)", after: "granted(s, 10)", atMs: 2_500, forMs: 500 },
      { fault: "zk.kill", target: "leader", after: "granted(mu, 5)", atMs: 4_000, forMs: 1_500 },
      { fault: "worker.kill", target: "holder(mu)", after: "granted(mu, 10)", atMs: 5_500, forMs: 500 },
    ],
    expect: { pass: [...safe, "rw", "permits", "reentry"] },
    faults: ["leader killed", "workers killed"],
    mode: "ours",
  },
  {
    id: "Z14-sessions",
    title:
      "Semaphore, read-write and re-entrant lock while sessions of those who wait end, and the leader is killed",
    tags: ["full"],
    topology: three,
    keys: ofMany,
    groups: [
      ours("s", 3, ["s"], { contenders: 2, options: { permits: 2 }, holdMs: [20, 60], proxied: true }),
      ours("b", 3, ["rw", "re"], { contenders: 2, holdMs: [20, 60], writes: "fenced", proxied: true }),
    ],
    runMs: 7_000,
    plan: () => [
      { fault: "zk.session-kill", target: "last-waiter(s)", after: "granted(s, 5)", atMs: 500 },
      { fault: "zk.session-kill", target: "last-waiter(rw)", after: "granted(rw, 5)", atMs: 1_000 },
      { fault: "zk.kill", target: "leader", after: "granted(re, 5)", atMs: 2_000, forMs: 1_500 },
      { fault: "zk.session-kill", target: "last-waiter(s)", after: "ended(zk.kill)", atMs: 500 },
      { fault: "zk.session-kill", target: "last-waiter(re)", after: "ended(zk.kill)", atMs: 1_000 },
    ],
    expect: {
      pass: [...fencedOff, "effect", "reentry", "lost-notice"],
      report: ["belief", "advertised", "mutex", "rw", "permits"],
    },
    // The ended session may also be that of a holder, or of a waiter that is granted at that very moment. Then it is as in Z02.
    check: { lostLateMs: 250 },
    // The leader is killed too, but that takes away no promise: what is not promised here is due to the ended sessions.
    faults: ["waiter's session ended"],
    mode: "ours, fenced",
  },
];
