import { type Drawable, drawFaults } from "../engine/random-plan.js";
import type { Scenario, Topology, WorkerGroup } from "../engine/scenario.js";
import {
  anyWorker,
  besideMaster,
  clientFaults,
  endedSessions,
  ensembleCuts,
  ensembleFaults,
  failovers,
  killedBehind,
  lostReplies,
  pauses,
  redisLosses,
  replicaCuts,
  somebody,
} from "./random-faults.js";
import { healLimitMs, hurried, mutex, safely, safePass } from "./redis-groups.js";
import { fencedOff, ours, safe, sharedKeys, three } from "./zookeeper-groups.js";

const count = 4;
const anybody = anyWorker(count);

/**
 * The parts that are the same for all scenarios with drawn faults. Only a night has time for them, and the seed decides
 * which faults come when.
 */
const drawn = (drawables: readonly Drawable[]): Pick<Scenario, "tags" | "runMs" | "lastsMs" | "plan"> => ({
  tags: ["nightly"],
  runMs: 60_000,
  lastsMs: [60_000, 600_000],
  plan: (random, runMs) => drawFaults(random, runMs, drawables),
});

/** Holds are long enough to be hit. Some faults last longer than a session, others do not. */
const sessionMs = 5_000;
const onEnsemble = (topology: Topology): Pick<Scenario, "topology" | "keys" | "check"> => ({
  topology,
  keys: sharedKeys(sessionMs),
  // Members that elect a leader anew on a busy machine take long.
  check: { healLimitMs },
});
const sharing = (more: Partial<WorkerGroup> = {}): WorkerGroup[] => [
  ours("w", count, ["m", "rw", "s"], {
    contenders: 2,
    options: { permits: 2 },
    holdMs: [20, 120],
    proxied: true,
    ...more,
  }),
];
const whoOnEnsemble = somebody(count, ["m", "rw", "s"]);
const clientsOfEnsemble = clientFaults(whoOnEnsemble, { mostMs: 8_000, backAfterMs: 1_500 });

/**
 * The workers `w` hold for a moment. The workers `l` hold for longer than the promotion of a new master takes: if the
 * old master takes a grant with it, two clients then hold at once. The links of `l` are cut only at the moment at which
 * the master is killed. A client that holds for long and only loses contact with Sentinels is a different case, see
 * R07-deaf.
 */
const briefly: WorkerGroup = { ...safely(count, [20, 300]), proxied: true };
const ofReplicas: readonly WorkerGroup[] = [
  briefly,
  { ...briefly, name: "l", count: 2, keys: ["k3"], holdMs: [5_000, 5_200], pauseMs: [200, 500] },
];
const onReplicas = {
  keys: { k1: mutex, k2: mutex, k3: { ...mutex, leaseMs: 16_000 } },
  check: { healLimitMs, minGrants: 5 },
} as const;
const whoOnReplicas = somebody(count, ["k1", "k2"]);
const clientsOfReplicas = clientFaults(whoOnReplicas, { mostMs: 5_000, backAfterMs: 1_500 });

const fencedReplicas = safePass.pass.filter(
  (name) => !["belief", "mutex", "advertised", "lost-notice"].includes(name),
);

/** Faults drawn from the seed, in any order and two at a time, in combinations that no scenario writes down. */
export const randomScenarios: readonly Scenario[] = [
  {
    id: "S02-zk",
    title:
      "Drawn from the seed: members killed, frozen, restarted, clients killed and cut off, answers lost: nothing is granted twice",
    ...drawn([...ensembleFaults, ...clientsOfEnsemble, lostReplies(anybody)]),
    ...onEnsemble(three),
    groups: sharing(),
    expect: { pass: [...safe, "rw", "permits"], report: ["fifo"] },
    faults: ["drawn: servers, links, clients killed"],
    mode: "ours",
  },
  {
    id: "S02-zk-fenced",
    title:
      "Drawn from the seed: the same with sessions ended at the server and clients that stand still: the resource takes no late write",
    ...drawn([
      ...ensembleFaults,
      ...clientsOfEnsemble,
      lostReplies(anybody),
      endedSessions(whoOnEnsemble),
      ...pauses(whoOnEnsemble, 9_000),
    ]),
    ...onEnsemble(three),
    groups: sharing({ writes: "fenced", options: { permits: 2, heeds: false } }),
    expect: {
      pass: [...fencedOff, "effect"],
      report: ["belief", "advertised", "mutex", "rw", "permits", "lost-notice", "lost-update", "fifo"],
    },
    faults: ["drawn: sessions ended, clients paused"],
    mode: "ours, fenced",
  },
  {
    id: "S02-zk-net",
    title:
      "Drawn from the seed: members cut from each other in every shape, killed and frozen, clients killed and cut off: nothing is granted twice",
    ...drawn([...ensembleCuts, ...ensembleFaults, ...clientsOfEnsemble]),
    ...onEnsemble({ kind: "zookeeper", members: 3, namespaces: true }),
    groups: sharing(),
    expect: { pass: [...safe, "rw", "permits"], report: ["fifo"] },
    faults: ["drawn: network cuts"],
    mode: "ours",
  },
  {
    id: "S02-redis",
    title:
      "Drawn from the seed: masters replaced, killed, frozen, replicas and Sentinels away, clients killed and cut off: nothing is granted twice",
    ...drawn([...failovers, killedBehind, ...besideMaster, ...clientsOfReplicas, ...redisLosses(anybody)]),
    topology: hurried,
    ...onReplicas,
    groups: ofReplicas,
    expect: safePass,
    faults: ["drawn: servers, links, clients killed"],
    mode: "ours, acks all, fenced",
  },
  {
    id: "S02-redis-fenced",
    title:
      "Drawn from the seed: the same with clients that stand still and write on without looking: the resource takes no late write",
    ...drawn([
      ...failovers,
      killedBehind,
      ...besideMaster,
      ...clientsOfReplicas,
      ...pauses(whoOnReplicas, 6_000),
    ]),
    topology: hurried,
    ...onReplicas,
    groups: ofReplicas.map((group) => ({ ...group, options: { ...group.options, heeds: false } })),
    expect: { pass: fencedReplicas, report: ["belief", "mutex", "advertised", "lost-notice"] },
    faults: ["drawn: clients paused"],
    mode: "ours, acks all, fenced",
  },
  {
    id: "S02-redis-net",
    title:
      "Drawn from the seed: masters and replicas cut off, masters replaced, clients killed and cut off: nothing is granted twice",
    ...drawn([...replicaCuts, ...failovers, ...clientsOfReplicas]),
    topology: { ...hurried, namespaces: true },
    ...onReplicas,
    groups: ofReplicas,
    expect: safePass,
    faults: ["drawn: network cuts"],
    mode: "ours, acks all, fenced",
  },
  {
    id: "S02-naive",
    title: "Drawn from the seed: SET NX PX and DEL, whose clients are killed, cut off and stand still",
    ...drawn([
      ...clientFaults(somebody(count, ["k1"]), { mostMs: 1_500 }),
      {
        weight: 3,
        lanes: ["clients"],
        restMs: 500,
        draw: (random) => ({
          fault: "worker.pause",
          target: "holder(k1)",
          forMs: random.between(2_000, 3_000),
          options: { working: true },
        }),
      },
    ]),
    topology: { kind: "redis" },
    keys: { k1: { kind: "naive", backend: "redis", leaseMs: 1_000 } },
    groups: [
      {
        name: "w",
        count,
        recipe: "naive-key",
        keys: ["k1"],
        holdMs: [150, 250],
        writes: "unfenced",
        proxied: true,
      },
    ],
    expect: {
      pass: ["heal-liveness"],
      violation: ["lost-update"],
      report: ["belief", "advertised", "mutex", "effect", "handover", "leaks"],
    },
    faults: ["drawn: clients paused"],
    mode: "naive",
  },
];
