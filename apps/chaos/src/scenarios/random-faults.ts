import type { Random } from "../engine/random.js";
import type { Drawable } from "../engine/random-plan.js";
import type { Lane } from "../engine/scenario.js";

const servers: readonly [Lane] = ["servers"];
const clients: readonly [Lane] = ["clients"];
/** For faults that need servers and clients without another fault; otherwise they could not be seen to happen. */
const both: readonly [Lane, Lane] = ["servers", "clients"];

type Targets = (random: Random) => string;

/** A fault of a server, for a time. The server comes back by itself, or is brought back. */
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

/** Any of the workers, or one that holds or waits at that moment. */
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

/** Kills processes of clients, and cuts their links to the servers, in one direction or both. */
export function clientFaults(
  who: Targets,
  { mostMs, backAfterMs = 800 }: { mostMs: number; backAfterMs?: number },
): Drawable[] {
  // After such a fault a client needs some time to have a session or a master again.
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

/** Stops processes of clients for a time; they go on as if nothing had happened. */
export const pauses = (who: Targets, mostMs: number): Drawable[] => [
  client("worker.pause", who, [300, mostMs], { weight: 3, restMs: 1_000 }),
];

/** Hits one of three members at a time, or all members for a limited time. */
export const ensembleFaults: readonly Drawable[] = [
  server("zk.kill", ["leader", "follower"], [200, 3_000], { weight: 3 }),
  server("zk.pause", ["leader", "follower"], [300, 6_000], { weight: 3 }),
  server("zk.restart", ["zk1", "zk2", "zk3"], null),
  server("zk.kill", ["all"], [200, 1_500], { weight: 0.5, restMs: 4_000 }),
  server("zk.pause", ["all"], [300, 5_000], { weight: 0.5 }),
];

/** Loses the answer to a create or delete, and ends the connection. */
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

/** Ends sessions at the server, before their owners can know. */
export const endedSessions = (who: Targets): Drawable => ({
  weight: 1.5,
  lanes: both,
  restMs: 1_000,
  draw: (random) => ({ fault: "zk.session-kill", target: who(random) }),
});

/** Cuts members off from each other: less than half of them, or all for a limited time. */
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

/** Replaces masters, planned and not. Of the other servers, only one of each kind is hit at a time. */
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

/** Only for servers that share one network, where replication passes through proxies. */
export const killedBehind: Drawable = {
  // The fault cuts off the worker whose grant no replica has received.
  lanes: both,
  restMs: 3_000,
  tookMs: 6_000,
  draw: (random) => ({
    fault: "redis.kill-behind",
    forMs: random.between(200, 1_000),
    options: { key: "k3", group: "l", waitMs: random.between(1_000, 4_000) },
  }),
};

/** Faults after which the master is the same. */
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

/** Loses answers of scripts, and the messages that wake waiters. */
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

/** For servers with addresses of their own: cuts off the master or a replica. */
export const replicaCuts: readonly Drawable[] = [
  server("net.cut", ["master", "replica"], [1_000, 6_000], { weight: 2, restMs: 3_000 }),
  server("net.isolate", ["master", "replica"], [1_000, 6_000], { weight: 2, restMs: 3_000 }),
  server("net.halves", ["all"], [1_000, 5_000], { restMs: 3_000 }),
];
