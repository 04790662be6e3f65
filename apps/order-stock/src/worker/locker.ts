import { closeOnSignals, type LockHandle } from "@holdfast/core";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import type { LockerChoice } from "./messages.js";

/**
 * Runs a body while other workers are kept out. A locker without a lock keeps out none, and its body gets no handle.
 */
export interface Locker {
  ready(): Promise<void>;
  withLock<T>(body: (lock: LockHandle | null) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const nobodyKeptOut: Locker = {
  ready: async () => {},
  withLock: (body) => body(null),
  close: async () => {},
};

/**
 * Limits how long a worker takes to end if ZooKeeper is already gone. The end of its session then releases the lock.
 */
const releaseTimeoutMs = 1_000;

/** @param label shown beside the lock by `inspect()`. */
export function openLocker(choice: LockerChoice, label: string): Locker {
  if (choice.kind === "none") return nobodyKeptOut;
  const { connect, lock, sessionTimeoutMs } = choice;
  const locks = zookeeperLocks({ connect, sessionTimeoutMs, identity: true });
  closeOnSignals(locks, ["SIGTERM"]);
  return {
    ready: () => locks.ready(),
    withLock: (body) => locks.mutex(lock).withLock({ label }, body),
    close: async () => {
      await locks.close({ releaseTimeoutMs });
    },
  };
}
