import type { CheckerName } from "../checkers/judge.js";
import type { FaultKind } from "../engine/faults/fault.js";
import { linkFaults } from "../engine/faults/link.js";
import { workerFaults } from "../engine/faults/worker.js";
import { zooKeeperFaults } from "../engine/faults/zookeeper.js";
import type { PlannedFault, Scenario } from "../engine/scenario.js";
import type { AttackedServers } from "../workload/addresses.js";

/** Long enough for the shortest session that a ZooKeeper server grants by default. */
const leaseMs = 6_000;

/** The checkers that must pass whatever is done to clients. */
const always: readonly CheckerName[] = [
  "fence-order",
  "fence-effect",
  "effect",
  "handover",
  "heal-liveness",
  "leaks",
  "stats",
];
/** The checkers that must pass too, if holders can be notified in time. */
const inTime: readonly CheckerName[] = ["belief", "advertised", "mutex", "lost-notice"];

interface Attack {
  readonly what: string;
  readonly of: "zookeeper" | "both";
  /** The one fault of this attack. No fault here can reach a server's process, its data or another user's client. */
  readonly kind: FaultKind | undefined;
  readonly name: string;
  readonly planned: Partial<PlannedFault>;
  /** The time from the end of one fault to the next, in milliseconds. */
  readonly everyMs: number;
  readonly knowsInTime: boolean;
  /** `false`: holders write on without checking their locks, so that the resource has to refuse them. */
  readonly heeds?: boolean;
}

export type AttackName = "session-kill" | "worker-kill" | "worker-pause" | "reset" | "cut";

/** The attacks by the words of `--fault`. */
export const attacks: Readonly<Record<AttackName, Attack>> = {
  "session-kill": {
    what: "takes over the session of one of its own workers and closes it at the server, while that worker holds",
    of: "zookeeper",
    name: "zk.session-kill",
    kind: zooKeeperFaults["zk.session-kill"],
    planned: {},
    everyMs: 1_000,
    knowsInTime: false,
  },
  "worker-kill": {
    what: "kills one of its own workers while it holds (SIGKILL), and starts it again",
    of: "both",
    name: "worker.kill",
    kind: workerFaults["worker.kill"],
    planned: { forMs: 500 },
    everyMs: 1_500,
    knowsInTime: true,
  },
  "worker-pause": {
    what: "stops one of its own workers for longer than its lease while it holds (SIGSTOP)",
    of: "both",
    name: "worker.pause",
    kind: workerFaults["worker.pause"],
    planned: { forMs: leaseMs * 1.5, options: { working: true } },
    everyMs: 1_000,
    knowsInTime: false,
    heeds: false,
  },
  reset: {
    what: "resets the connections of one of its own workers while it holds",
    of: "both",
    name: "link.reset",
    kind: linkFaults["link.reset"],
    planned: {},
    everyMs: 1_000,
    knowsInTime: true,
  },
  cut: {
    what: "swallows what passes between one of its own workers and the servers for longer than its lease, while it holds",
    of: "both",
    name: "link.hole",
    kind: linkFaults["link.hole"],
    planned: { forMs: leaseMs * 1.5 },
    everyMs: 1_000,
    knowsInTime: true,
  },
};

export const attackNames: readonly AttackName[] = Object.keys(attacks) as AttackName[];

/** The faults that a run of this attack knows: only its own. */
export function faultsOf(name: AttackName): Readonly<Record<string, FaultKind>> {
  const { kind, name: fault } = attacks[name];
  if (kind === undefined) throw new Error(`there is no fault ${fault}`);
  return { [fault]: kind };
}

/** The attack's own workers at one lock. One after the other is hit, `times` times in all. */
export function attackScenario(
  id: string,
  { backend: kind }: AttackedServers,
  name: AttackName,
  times: number,
  workers: number,
): Scenario {
  const attack = attacks[name];
  const plan = (): PlannedFault[] =>
    Array.from({ length: times }, (_, at) => ({
      fault: attack.name,
      target: "holder(k1)",
      after: at === 0 ? "granted(k1, 5)" : `ended(${attack.name}, ${at})`,
      atMs: attack.everyMs,
      ...attack.planned,
    }));
  const forMs = attack.planned.forMs ?? 0;
  return {
    id,
    title: `Attack on a cluster of yours: ${attack.what}`,
    tags: [],
    topology: kind === "zookeeper" ? { kind, members: 1 } : { kind },
    keys: { k1: { kind: "mutex", backend: kind, fair: kind === "zookeeper", fenced: true, leaseMs } },
    groups: [
      {
        name: "w",
        count: workers,
        recipe: kind,
        keys: ["k1"],
        holdMs: [50, 150],
        writes: "fenced",
        proxied: true,
        ...(attack.heeds === undefined ? {} : { options: { heeds: attack.heeds } }),
      },
    ],
    runMs: 1_000 + times * (attack.everyMs + forMs),
    plan,
    expect: attack.knowsInTime
      ? { pass: [...always, ...inTime] }
      : { pass: always, report: [...inTime, "lost-update", "fifo"] },
    // A cluster in use is slower than a test cluster, and may grant longer sessions than were asked for.
    check: { handoverLimitMs: 4 * leaseMs, healLimitMs: 6 * leaseMs, minGrants: 10, lostLateMs: 1_000 },
    faults: [name],
    mode: "ours, fenced",
  };
}
