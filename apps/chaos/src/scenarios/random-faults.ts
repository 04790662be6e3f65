import type { Random } from "../engine/random.js";
import type { Drawable } from "../engine/random-plan.js";
import type { Lane } from "../engine/scenario.js";

const servers: readonly [Lane] = ["servers"];
const clients: readonly [Lane] = ["clients"];
/** Both must be well but for it, or it could not be seen to happen. */
const both: readonly [Lane, Lane] = ["servers", "clients"];

type Targets = (random: Random) => string;

/** A fault of a server, for a time; it comes back by itself or is brought back. */
function server(
  fault: string,
  targets: readonly [string, ...string[]],
  forMs: readonly [number, number] | null,
  more: Partial<Drawable> = {},
): Drawable {
  return {
    lanes: servers,
    restMs: 2_000,
    ...(forMs === null && { tookMs: 1_500 }),
    ...more,
    draw: (random) => ({
      fault,
      target: random.pick(targets),
      ...(forMs !== null && { forMs: random.between(...forMs) }),
    }),
  };
}

/** A fault of a client, for a time. */
function client(
  fault: string,
  targets: Targets,
  forMs: readonly [number, number],
  more: Partial<Drawable> = {},
): Drawable {
  return {
    lanes: clients,
    restMs: 800,
    ...more,
    draw: (random) => ({ fault, target: targets(random), forMs: random.between(...forMs) }),
  };
}

/** Any of the workers, or one that holds or waits just then. */
export function somebody(workers: number, keys: readonly [string, ...string[]]): Targets {
  return (random) => {
    const who = random.pick(["worker", "worker", "holder", "waiter"]);
    return who === "worker"
      ? `worker(w${random.between(0, workers - 1)})`
      : `${who}(${random.pick(keys as [string, ...string[]])})`;
  };
}

export const anyWorker =
  (workers: number): Targets =>
  (random) =>
    `worker(w${random.between(0, workers - 1)})`;

/** Processes of clients end, and their ways to the servers lead nowhere, one way or both. */
export function clientFaults(
  who: Targets,
  { mostMs, backAfterMs = 800 }: { mostMs: number; backAfterMs?: number },
): Drawable[] {
  // No client knows a session or a master at once after that.
  const cut = { restMs: backAfterMs };
  return [
    client("worker.kill", who, [200, 1_500], { weight: 2, restMs: backAfterMs }),
    client("link.hole", who, [300, mostMs], cut),
    client("link.hole-up", who, [300, mostMs], cut),
    client("link.hole-down", who, [300, mostMs], cut),
    client("link.stall", who, [300, mostMs], cut),
    client("link.refuse", who, [300, mostMs], cut),
    {
      lanes: clients,
      restMs: backAfterMs,
      draw: (random) => ({ fault: "link.reset", target: who(random) }),
    },
  ];
}

/** Processes of clients stand still and go on as if nothing had been. */
export const pauses = (who: Targets, mostMs: number): Drawable[] => [
  client("worker.pause", who, [300, mostMs], { weight: 3, restMs: 1_000 }),
];

/** One of three members at a time, or all for a while that ends. */
export const ensembleFaults: readonly Drawable[] = [
  server("zk.kill", ["leader", "follower"], [200, 3_000], { weight: 3 }),
  server("zk.pause", ["leader", "follower"], [300, 6_000], { weight: 3 }),
  server("zk.restart", ["zk1", "zk2", "zk3"], null),
  server("zk.kill", ["all"], [200, 1_500], { weight: 0.5, restMs: 4_000 }),
  server("zk.pause", ["all"], [300, 5_000], { weight: 0.5 }),
];

/** The answer to a create or delete is lost, and the connection ends. */
export const lostReplies = (who: Targets): Drawable => ({
  weight: 0.6,
  lanes: both,
  restMs: 500,
  tookMs: 1_000,
  draw: (random) => ({
    fault: "zk.lose-replies",
    target: who(random),
    options: { times: random.between(1, 4) },
  }),
});

/** Sessions end at the server, before their owners can know. */
export const endedSessions = (who: Targets): Drawable => ({
  weight: 1.5,
  lanes: both,
  restMs: 1_000,
  draw: (random) => ({ fault: "zk.session-kill", target: who(random) }),
});

/** Members are cut from each other; less than half of them, or all for a while that ends. */
export const ensembleCuts: readonly Drawable[] = [
  ...(["both", "in", "out"] as const).map(
    (way): Drawable => ({
      lanes: servers,
      restMs: 2_000,
      draw: (random) => ({
        fault: "net.cut",
        target: random.pick(["leader", "follower"]),
        forMs: random.between(1_000, 6_000),
        options: { way },
      }),
    }),
  ),
  server("net.isolate", ["leader", "follower"], [1_000, 6_000], { weight: 2 }),
  server("net.bridge", ["leader", "follower"], [1_000, 6_000]),
  server("net.ring", ["all"], [1_000, 5_000]),
  server("net.halves", ["all"], [1_000, 5_000]),
];

/** Masters are replaced, planned and not; whatever else is hit is one of its kind at a time. */
export const failovers: readonly Drawable[] = [
  { weight: 3, lanes: servers, restMs: 3_000, tookMs: 2_000, draw: () => ({ fault: "redis.failover" }) },
  {
    weight: 2,
    lanes: servers,
    restMs: 3_000,
    tookMs: 3_000,
    draw: (random) => ({
      fault: "redis.freeze-master",
      options: { goOnAfterMs: random.between(0, 1_000) },
    }),
  },
  {
    weight: 2,
    lanes: servers,
    restMs: 3_000,
    tookMs: 2_500,
    draw: (random) => ({ fault: "redis.kill-master", forMs: random.between(200, 2_000) }),
  },
  {
    lanes: servers,
    restMs: 3_000,
    tookMs: 4_500,
    draw: () => ({
      fault: "redis.client-pause",
      target: "master",
      options: { pauseMs: 4_000, replaced: true },
    }),
  },
];

/** Only where replication passes gates: servers that share one network. */
export const killedBehind: Drawable = {
  // It cuts off the worker that was granted what no replica knows of.
  lanes: both,
  restMs: 3_000,
  tookMs: 6_000,
  draw: (random) => ({
    fault: "redis.kill-behind",
    forMs: random.between(200, 1_000),
    options: { key: "k3", group: "l", waitMs: random.between(1_000, 4_000) },
  }),
};

/** What leaves the master where it is. */
export const besideMaster: readonly Drawable[] = [
  server("redis.kill", ["replica"], [200, 2_000]),
  server("redis.pause", ["replica"], [300, 3_000]),
  server("redis.pause", ["sentinel1", "sentinel2", "sentinel3"], [300, 4_000]),
  {
    lanes: servers,
    restMs: 500,
    tookMs: 500,
    draw: (random) => ({
      fault: "redis.client-pause",
      target: "master",
      options: { pauseMs: random.between(100, 500) },
    }),
  },
  server("redis.flush-scripts", ["master"], null, { restMs: 500, tookMs: 0 }),
  {
    weight: 0.5,
    lanes: both,
    restMs: 800,
    draw: (random) => ({
      fault: "redis.kill-clients",
      target: "master",
      options: { type: random.pick(["normal", "pubsub"]) },
    }),
  },
];

/** Answers of scripts are lost, and the messages that wake waiters too. */
export const redisLosses = (who: Targets): Drawable[] => [
  {
    weight: 0.5,
    lanes: both,
    restMs: 500,
    draw: (random) => ({
      fault: "redis.lose-replies",
      target: who(random),
      forMs: random.between(2_000, 3_000),
      options: { times: random.between(1, 3) },
    }),
  },
  {
    weight: 0.5,
    lanes: both,
    restMs: 500,
    draw: (random) => ({
      fault: "redis.deafen",
      target: who(random),
      forMs: random.between(500, 2_000),
      options: { how: random.pick(["hole", "reset"]), quiet: true },
    }),
  },
];

/** Servers that have addresses of their own: the master is cut off, or a replica is. */
export const replicaCuts: readonly Drawable[] = [
  server("net.cut", ["master", "replica"], [1_000, 6_000], { weight: 2, restMs: 3_000 }),
  server("net.isolate", ["master", "replica"], [1_000, 6_000], { weight: 2, restMs: 3_000 }),
  server("net.halves", ["all"], [1_000, 5_000], { restMs: 3_000 }),
];
