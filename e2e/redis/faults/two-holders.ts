import { performance } from "node:perf_hooks";
import { setTimeout as pass } from "node:timers/promises";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { clientStateOf } from "@holdfast/redis-recipes/internal";
import {
  eventually,
  type RedisNode,
  type RedisProxy,
  type RedisReplicaSet,
  startRedisProxy,
  startRedisReplicaSet,
} from "@holdfast/test-servers";
import { WatchedHold } from "./watched-hold.js";

/** What happens to the master of a lock that is held, or is just being granted. */
export const blows = {
  "killed, replicas in step": holdThroughKill,
  "killed, replicas behind": grantBehindCut,
  "planned failover": grantsAround,
  "planned failover, holder deaf to Sentinels": grantsAround,
  "cut off with the holder, for 8 s": holdThroughIsolation,
} as const;

export type Blow = keyof typeof blows;

const lanes = ["none", 1, "all"] as const;
export type Acks = (typeof lanes)[number];

/** What was seen in one lane: one holder with one setting of `acks`, and a rival without `acks`. */
export interface Sighting {
  readonly acks: Acks;
  /** `false`: no request of the holder after the blow was granted. */
  readonly granted: boolean;
  /**
   * How long both believed to hold: from the rival's grant until one of them was notified of its loss. 0 when they never did.
   */
  readonly bothMs: number;
  /** Like `bothMs`, but only up to the holder's first doubt, where that comes before the loss. */
  readonly unawareMs: number;
  /** Like `bothMs`, for rivals that were granted in the first lease of the hold, which depends on no renewal. */
  readonly newBothMs?: number;
}

const leaseMs = 3_000;
/** The first lease, less what the replicas may take to acknowledge the grant. */
const newForMs = leaseMs - 500;
const patience = { withinMs: 30_000, everyMs: 5 };
const cutForMs = 8_000;

/** Strikes one blow once, on servers of its own, with all lanes at the same time. */
export async function sight(blow: Blow, minReplicas: 0 | 1): Promise<readonly Sighting[]> {
  const config = minReplicas === 0 ? {} : { "min-replicas-to-write": 1, "min-replicas-max-lag": 1 };
  const set = await startRedisReplicaSet({ replicationProxies: true, config });
  const scene = await Scene.open(set, blow.includes("deaf"));
  try {
    return await blows[blow](scene);
  } finally {
    await scene.close();
    await set.stop();
  }
}

interface Lane {
  readonly acks: Acks;
  readonly holder: RedisLocks;
  readonly rival: RedisLocks;
}

class Scene {
  readonly set: RedisReplicaSet;
  readonly master: RedisNode;
  readonly replicas: readonly RedisNode[];
  readonly lanes: readonly Lane[];
  readonly deaf: boolean;
  /** The links through which the holders reach the Sentinels. */
  readonly ears: readonly RedisProxy[];

  private constructor(
    set: RedisReplicaSet,
    deaf: boolean,
    found: Pick<Scene, "master" | "replicas" | "lanes" | "ears">,
  ) {
    this.set = set;
    this.deaf = deaf;
    this.master = found.master;
    this.replicas = found.replicas;
    this.lanes = found.lanes;
    this.ears = found.ears;
  }

  static async open(set: RedisReplicaSet, deaf: boolean): Promise<Scene> {
    const master = await set.master();
    const replicas = await set.replicas();
    const ears = await Promise.all(set.sentinels.map(({ address }) => startRedisProxy({ target: address })));
    // The holders reach the master past its gate. So when the gate cuts it off from all others, the holders stay connected to
    // it.
    const natMap = {
      [`127.0.0.1:${set.announcedPort(master)}`]: { host: "127.0.0.1", port: master.port },
      ...Object.fromEntries(
        set.sentinels.map(({ address }, index) => [
          address,
          { host: "127.0.0.1", port: (ears[index] as RedisProxy).port },
        ]),
      ),
    };
    const opened = lanes.map((acks) => ({
      acks,
      holder: open({
        sentinels: { sentinels: ears.map(({ host, port }) => ({ host, port })), name: set.name, natMap },
        ...(acks === "none" ? {} : { replicas: 2, acks, waitTimeoutMs: 300 }),
      }),
      rival: open({ sentinels: { sentinels: set.sentinelAddresses, name: set.name } }),
    }));
    for (const { holder, rival } of opened) {
      await Promise.all([holder.ready(), rival.ready()]);
      // After these grants all connections are open, and the servers know the scripts.
      await eventually(() => warm(holder), { what: "a first grant", ...patience });
      await warm(rival);
    }
    return new Scene(set, deaf, { master, replicas, lanes: opened, ears });
  }

  cutReplication(): void {
    for (const replica of this.replicas) this.set.cutReplication(replica);
  }

  healReplication(): void {
    for (const replica of this.replicas) this.set.healReplication(replica);
  }

  async deafen(): Promise<void> {
    await Promise.all(this.ears.map((ear) => ear.setMode("hole")));
  }

  async close(): Promise<void> {
    const all = this.lanes.flatMap(({ holder, rival }) => [holder, rival]);
    await Promise.all(all.map((locks) => locks.close({ releaseTimeoutMs: 100 })));
    await Promise.all(this.ears.map((ear) => ear.close()));
  }
}

const open = (options: RedisLocksOptions): RedisLocks =>
  redisLocks({ leaseMs, heartbeatMs: 200, aliveMs: 1_000, claimLeaseMs: 1_000, ...options });

async function warm(locks: RedisLocks): Promise<boolean> {
  const handle = await locks.mutex(freshName()).tryAcquire();
  await handle?.release();
  return handle !== null;
}

let names = 0;
const freshName = (): string => `two-${process.pid}-${++names}`;

const masterOf = (locks: RedisLocks): string | null => clientStateOf(locks)?.line.masterOf("any") ?? null;

/**
 * Waits until one of the two is notified of its loss. The rival keeps its grant until then, so that the time can be measured.
 */
async function overlap(
  hold: WatchedHold,
  rival: WatchedHold,
): Promise<Pick<Sighting, "bothMs" | "unawareMs">> {
  await eventually(() => hold.lost || rival.lost, { what: "one of the two to be told", ...patience });
  const endMs = Math.min(hold.lostMs, rival.lostMs);
  return {
    bothMs: Math.max(0, endMs - rival.grantedMs),
    unawareMs: Math.max(0, Math.min(endMs, hold.doubtedMs) - rival.grantedMs),
  };
}

const none = { bothMs: 0, unawareMs: 0 };

/**
 * Makes a hold and a waiter in each lane, and then strikes the blow. Ends when the waiter is granted, or when the holder is
 * sure again.
 */
async function contested(scene: Scene, blow: () => Promise<void>): Promise<readonly Sighting[]> {
  const contests = await Promise.all(
    scene.lanes.map(async ({ acks, holder, rival }) => {
      const name = freshName();
      const hold = new WatchedHold(holder, await holder.mutex(name).acquire());
      const granted = rival.mutex(name).acquire({ waitMs: patience.withinMs });
      granted.catch(() => {}); // awaited below
      return { acks, hold, won: granted.then((handle) => new WatchedHold(rival, handle)) };
    }),
  );
  // By then each hold has been renewed at least once.
  await pass(leaseMs / 2);
  await blow();
  return await Promise.all(
    contests.map(async ({ acks, hold, won }) => {
      const sure = eventually(() => hold.recovered || hold.lost, { what: "the holder to know", ...patience });
      const first = await Promise.race([won, sure.then(() => null)]);
      // The holder is sure again, so the rival has to wait for the release.
      if (first === null && !hold.lost) {
        const releasing = performance.now();
        await hold.handle.release();
        const { grantedMs } = await won;
        return {
          acks,
          granted: true,
          ...(grantedMs < releasing
            ? { bothMs: releasing - grantedMs, unawareMs: releasing - grantedMs }
            : none),
        };
      }
      return { acks, granted: true, ...(await overlap(hold, await won)) };
    }),
  );
}

function holdThroughKill(scene: Scene): Promise<readonly Sighting[]> {
  return contested(scene, () => scene.master.kill());
}

/** The grant is the last write of the master, and no replica has it. */
async function grantBehindCut(scene: Scene): Promise<readonly Sighting[]> {
  scene.cutReplication();
  const asked = await Promise.all(
    scene.lanes.map(async (lane) => {
      const name = freshName();
      const handle = await lane.holder
        .mutex(name)
        .tryAcquire()
        .catch(() => null);
      return { ...lane, name, hold: handle === null ? null : new WatchedHold(lane.holder, handle) };
    }),
  );
  await scene.master.kill();
  const granted = asked.map(async ({ hold, name, rival }) =>
    hold === null ? null : await rival.mutex(name).acquire({ waitMs: patience.withinMs }),
  );
  // Replication is restored only after that. Earlier, the writes that were held back would reach the replicas after all.
  await scene.set.untilMaster({ not: scene.master });
  scene.healReplication();
  return await Promise.all(
    asked.map(async ({ acks, rival, hold }, index) => {
      const handle = await granted[index];
      if (hold === null || !handle) return { acks, granted: false, ...none };
      return { acks, granted: true, ...(await overlap(hold, new WatchedHold(rival, handle))) };
    }),
  );
}

/** The holder takes one lock after the other while a replica takes over, and the rival tries the same locks at the new master. */
async function grantsAround(scene: Scene): Promise<readonly Sighting[]> {
  const { set, master } = scene;
  const oldRunId = await master.runId();
  if (scene.deaf) await scene.deafen();
  let over = false;
  const granted = scene.lanes.map((): WatchedHold[] => []);
  const granting = scene.lanes.map(async ({ holder }, index) => {
    while (!over && masterOf(holder) === oldRunId) {
      const handle = await holder
        .mutex(freshName())
        .tryAcquire()
        .catch(() => null);
      if (handle !== null && !over) granted[index]?.push(new WatchedHold(holder, handle));
      await pass(20);
    }
  });
  const rivals = scene.lanes.map(async ({ rival }) => {
    await eventually(() => masterOf(rival) !== oldRunId && masterOf(rival) !== null, {
      what: "the rival to be at the new master",
      ...patience,
    });
  });
  const beganMs = performance.now();
  await set.failover();
  await Promise.all(rivals);
  await Promise.race([Promise.all(granting), pass(500)]);
  // A last try of the holder may last until it finds the new master. The rival asks at once, long before the leases end.
  over = true;
  const sightings = await Promise.all(
    scene.lanes.map(async ({ acks, rival }, index) => {
      const late = (granted[index] ?? []).filter(({ grantedMs }) => grantedMs > beganMs);
      const overlaps = late.map(async (hold) => {
        // With this wait, a connection that is being replaced costs one try and not the answer.
        const handle = await rival
          .mutex(hold.handle.name)
          .tryAcquire({ waitMs: 500 })
          .catch(() => null);
        if (handle === null) return { ...none, isNew: false };
        const other = new WatchedHold(rival, handle);
        const isNew = other.grantedMs - hold.grantedMs < newForMs;
        return { ...(await overlap(hold, other)), isNew };
      });
      const seen = await Promise.all(overlaps);
      return {
        acks,
        granted: late.length > 0,
        bothMs: Math.max(0, ...seen.map(({ bothMs }) => bothMs)),
        unawareMs: Math.max(0, ...seen.map(({ unawareMs }) => unawareMs)),
        newBothMs: Math.max(0, ...seen.map(({ bothMs, isNew }) => (isNew ? bothMs : 0))),
      };
    }),
  );
  await Promise.all(granting);
  return sightings;
}

/** The master and the holders are on one side of the cut, and all other servers and clients on the other side. */
async function holdThroughIsolation(scene: Scene): Promise<readonly Sighting[]> {
  let heal: NodeJS.Timeout | undefined;
  try {
    return await contested(scene, async () => {
      await Promise.all([scene.set.isolate(scene.master), scene.deafen()]);
      heal = setTimeout(() => {
        void scene.set.rejoin(scene.master);
        for (const ear of scene.ears) void ear.setMode("ok");
      }, cutForMs);
    });
  } finally {
    clearTimeout(heal);
  }
}
