import type { LockProvider } from "@holdfast/core";
import { type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import { Contest, type Verdict } from "../../support/faults/fault-contest.js";
import { spread } from "../../support/faults/fault-figures.js";
import type { FaultObserver } from "../../support/faults/fault-observer.js";

/** Undoes things in reverse order. Each test has its own, because the tests run side by side. */
export class Tidy implements AsyncDisposable {
  readonly #undo: (() => PromiseLike<unknown>)[] = [];

  add<T>(thing: T, undo: (thing: T) => PromiseLike<unknown>): T {
    this.#undo.push(() => undo(thing));
    return thing;
  }

  async provider(connect: string, options: ZooKeeperLocksOptions): Promise<LockProvider> {
    const locks = zookeeperLocks({ connect, ...options });
    this.add(locks, () => locks.close({ releaseTimeoutMs: 500 }));
    await locks.ready();
    return locks;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const undo of this.#undo.splice(0).reverse()) await undo();
  }
}

export interface Side {
  readonly holder: LockProvider;
  readonly waiter: LockProvider;
  readonly observer: FaultObserver;
}

/** The time limit of one test. A full run has more rounds. */
export const patienceMs: number = process.env.HOLDFAST_FULL === "1" ? 300_000 : 60_000;

let paths = 0;

/** Starts `count` contests, each on its own path and ready for the fault. */
export function contests(
  what: string,
  count: number,
  grantWithinMs: number,
  side: (index: number) => Promise<Side>,
): Promise<Contest[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      paths += 1;
      return await Contest.start({
        path: `/faults/${what}-${process.pid}-${paths}`,
        grantWithinMs,
        ...(await side(index)),
      });
    }),
  );
}

/** The verdict after every silent fault: the loss is reported before the grant, without a call, and no old write is admitted. */
export const lostFirst = {
  lostAborted: true,
  assertThrew: "LockLostError",
  state: "lost",
  staleWriteAdmitted: false,
} as const;

export function figures(what: string, verdicts: readonly Verdict[]): string {
  const before = verdicts.filter(({ marginMs }) => marginMs > 0).length;
  const margins = spread(verdicts.map(({ marginMs }) => marginMs));
  const grants = spread(verdicts.map(({ grantedAfterMs }) => grantedAfterMs));
  return `${what}: lost before the next grant in ${before}/${verdicts.length}, margin ${margins}; next grant after ${grants}`;
}
