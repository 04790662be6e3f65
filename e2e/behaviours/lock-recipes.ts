import type { Mutex, ReentrantMutex } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import type { ZooKeeperLocks } from "@holdfast/zk-recipes";
import { asMutex } from "../../packages/multi-lock/test/kit/as-mutex.js";
import type { Operator } from "../zookeeper/features/operator.js";

/** An exclusive lock, and a way to see from outside how many clients wait for it. */
export interface LockRecipe<L extends Mutex = Mutex> {
  readonly title: string;
  open(locks: ZooKeeperLocks, path: string): L;
  /** The number of waiters while the lock is held. */
  waiting(operator: Operator, path: string): Promise<number>;
}

/** The number of waiters, if the holder stands in one queue with them. */
async function behindTheHolder(operator: Operator, path: string): Promise<number> {
  return (await operator.children(path)).length - 1;
}

export const reentrantMutex: LockRecipe<ReentrantMutex> = {
  title: "reentrantMutex",
  open: (locks, path) => locks.reentrantMutex(path),
  waiting: behindTheHolder,
};

/** The locks that their holder may not enter again. */
export const plainLocks: readonly LockRecipe[] = [
  {
    title: "mutex",
    open: (locks, path) => locks.mutex(path),
    waiting: behindTheHolder,
  },
  {
    title: "semaphoreMutex",
    open: (locks, path) => locks.semaphoreMutex(path),
    // The holder has left the queue and has a node in `leases`.
    waiting: async (operator, path) => {
      const leases = await operator.children(`${path}/leases`);
      return leases.length === 1 ? (await operator.children(`${path}/locks`)).length : 0;
    },
  },
  {
    title: "multiLock",
    open(locks, path) {
      const mutex = locks.mutex(path);
      return asMutex(multiLock([mutex]), mutex);
    },
    waiting: behindTheHolder,
  },
];

export const everyLock: readonly LockRecipe[] = [...plainLocks, reentrantMutex];
