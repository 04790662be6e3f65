import { closeOnSignals, type LockHandle } from "@holdfast/core";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import type { LockerChoice } from "./messages.js";

/** Runs a body while others are kept out, or not: then the body gets no handle. */
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

/** Bounds a worker's end when ZooKeeper is already gone; its session gives the lock back then. */
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
