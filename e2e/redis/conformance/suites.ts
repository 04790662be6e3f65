import {
  barrierConformance,
  countDownLatchConformance,
  derivedMutexConformance,
  doubleBarrierConformance,
  type Fixture,
  leaderElectionConformance,
  mutexConformance,
  readWriteLockConformance,
  recordConformance,
  reentrantMutexConformance,
  reentrantReadWriteLockConformance,
  semaphoreConformance,
} from "@holdfast/conformance";
import type { LockProvider } from "@holdfast/core";
import type { RedisLocks } from "@holdfast/redis-recipes";
import { afterAll, beforeAll } from "vitest";
import { type Share, sharePrinted } from "../../support/share-of-cases.js";
import { expirePermits, loseBarrierEntries, loseLeadership, loseReadOrWrite, undoTake } from "./losses.js";
import { type FixtureParts, fixtureOn, type Servers } from "./servers.js";
import { Spinners } from "./spinners.js";

/** Runs the suites of all primitives on the same servers. `part`: the share of the cases in a run that is not full. */
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

  mutexConformance(name, on(), { losesAnswers: true, chosen });
  reentrantMutexConformance(name, on(), { chosen });
  derivedMutexConformance(
    name,
    "fair mutex",
    (provider, lock) => (provider as RedisLocks).fairMutex(lock),
    on(),
    { fairness: "fifo", losesAnswers: true, chosen },
  );
  const spinners = new Spinners();
  const spinning: FixtureParts = {
    adapt: (provider) => spinners.follow(provider),
    waiting: (_state, lock, provider) => spinners.refused(provider, lock),
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
    waiting: (state, lock) =>
      state.channelWaiters.waitingOn(`redisson_rwlock:{${lock}}`) + state.waits.waitingOn(lock),
  };
  readWriteLockConformance(name, on(readWrite), { chosen });
  reentrantReadWriteLockConformance(name, on(readWrite), { chosen });
  const waiting: FixtureParts["waiting"] = (state, lock) =>
    state.channelWaiters.waitingOn(`redisson_sc:{${lock}}`);
  semaphoreConformance(name, on({ loseHold: expirePermits, waiting }), { chosen });
  const plain: FixtureParts = { adapt: takePlain, anonymous: true, loseHold: undoTake, waiting };
  semaphoreConformance(`${name}, plain numbers`, on(plain), { chosen });
  leaderElectionConformance(name, on({ loseHold: loseLeadership }), { chosen });
  countDownLatchConformance(name, on(), { chosen });
  barrierConformance(name, on({ loseHold: loseBarrierEntries }), { chosen });
  doubleBarrierConformance(name, on({ loseHold: loseBarrierEntries }), { chosen });
  recordConformance(name, on(), { chosen });
  shared.print();
}

/** Replaces the suite's semaphores by Redisson's plain ones. */
function takePlain(provider: LockProvider & Pick<RedisLocks, "plainSemaphore">): void {
  provider.semaphore = (name, limit, options) => provider.plainSemaphore(name, limit, options);
}
