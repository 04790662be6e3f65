import type { AcquireOptions, Semaphore } from "@holdfast/core";
import {
  barrierConformance,
  countDownLatchConformance,
  derivedMutexConformance,
  doubleBarrierConformance,
  type Fixture,
  leaderElectionConformance,
  mutexConformance,
  readWriteLockConformance,
  reentrantMutexConformance,
  reentrantReadWriteLockConformance,
  semaphoreConformance,
} from "@holdfast/core/testing";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { RedisProvider } from "@holdfast/redis-recipes/internal";
import { afterAll, beforeAll } from "vitest";
import { type Share, sharePrinted } from "../../support/share-of-cases.js";
import { expirePermits, loseLeadership, loseReadOrWrite, loseSeats, undoTake } from "./losses.js";
import { type FixtureParts, fixtureOn, type Servers } from "./servers.js";
import { Spinners } from "./spinners.js";

/** Every primitive, on the same servers. `part`: of the cases, in a run that is not full. */
export function conformanceOn(where: string, start: () => Promise<Servers>, part: number): void {
  let servers: Servers | undefined;
  beforeAll(async () => {
    servers = await start();
  }, 300_000);
  afterAll(() => servers?.stop(), 60_000);
  const on = (parts?: FixtureParts) => async (): Promise<Fixture> => {
    if (servers === undefined) throw new Error(`the servers of ${where} are not there`);
    return await fixtureOn(servers, parts);
  };
  const name = `Redis, ${where}`;
  const shared: Share = sharePrinted(name, part);
  const { chosen } = shared;

  mutexConformance(name, on(), { chosen });
  reentrantMutexConformance(name, on(), { chosen });
  derivedMutexConformance(
    name,
    "fair mutex",
    (provider, lock) => (provider as RedisLocks).fairMutex(lock),
    on(),
    { fairness: "fifo", chosen },
  );
  const spinners = new Spinners();
  const spinning: FixtureParts = {
    adapt: (provider) => spinners.follow(provider),
    waiting: (_desk, lock, provider) => spinners.refused(provider, lock),
  };
  derivedMutexConformance(
    name,
    "spin mutex",
    (provider, lock) => (provider as RedisLocks).spinMutex(lock),
    on(spinning),
    { chosen },
  );
  const readWrite: FixtureParts = {
    loseHold: loseReadOrWrite,
    waiting: (desk, lock) => desk.rooms.waitingOn(`redisson_rwlock:{${lock}}`) + desk.waits.waitingOn(lock),
  };
  readWriteLockConformance(name, on(readWrite), { chosen });
  reentrantReadWriteLockConformance(name, on(readWrite), { chosen });
  const waiting: FixtureParts["waiting"] = (desk, lock) => desk.rooms.waitingOn(`redisson_sc:{${lock}}`);
  semaphoreConformance(name, on({ anonymous: true, loseHold: undoTake, waiting }), { chosen });
  const permits: FixtureParts = { adapt: givePermitsLeases, loseHold: expirePermits, waiting };
  semaphoreConformance(`${name}, permits with leases`, on(permits), { chosen });
  leaderElectionConformance(name, on({ loseHold: loseLeadership }), { chosen });
  countDownLatchConformance(name, on(), { chosen });
  barrierConformance(name, on({ loseHold: loseSeats }), { chosen });
  doubleBarrierConformance(name, on({ loseHold: loseSeats }), { chosen });
  shared.print();
}

type WithLimit = {
  semaphoreOfKind(kind: string, name: string, limit: number, options?: AcquireOptions): Semaphore;
};

/** The suite's semaphores are told their limit: as a permit semaphore would be whose limit everybody gives. */
function givePermitsLeases(provider: RedisLocks): void {
  if (!(provider instanceof RedisProvider)) throw new Error("not a provider on Redis");
  const inner = provider as unknown as WithLimit;
  provider.semaphore = (name, limit, options) =>
    inner.semaphoreOfKind("permit-semaphore", name, limit, options);
}
