import type { LockHandle, LockProvider } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { liveHeapBytes } from "./heap.js";

export interface MemoryOptions {
  readonly connect: string;
  /** Locks held at once. Default 10,000. */
  readonly holds?: number;
  /** Waiters on one lock. Default 1,000. */
  readonly waiters?: number;
  readonly onProgress?: (what: string) => void;
}

/** Bytes of heap in our process, all that belongs to one hold or waiter: handle, promises, queue entry, watches. */
export interface MemoryReport {
  readonly holds: number;
  readonly bytesPerHold: number;
  readonly waiters: number;
  readonly bytesPerWaiter: number;
}

const settleWithinMs = 120_000;

/** Heap for each hold and each waiter of one provider, once their watches are in place. */
export async function measureMemory(options: MemoryOptions): Promise<MemoryReport> {
  const { connect, holds = 10_000, waiters = 1_000, onProgress = () => {} } = options;
  await using locks = zookeeperLocks({ connect, sessionTimeoutMs: 30_000 });
  await locks.ready();
  onProgress(`${holds} locks held at once`);
  const bytesPerHold = await perHold(locks, holds);
  onProgress(`${waiters} waiters on one lock`);
  const bytesPerWaiter = await perWaiter(locks, waiters);
  return { holds, bytesPerHold, waiters, bytesPerWaiter };
}

async function perHold(locks: LockProvider, count: number): Promise<number> {
  // Not measured: what is made once for all holds.
  await (await locks.mutex("memory/first").acquire()).release();
  const watches = countWatches(locks);
  const before = liveHeapBytes();
  const handles = await Promise.all(
    Array.from({ length: count }, (_, i) => locks.mutex(`memory/${String(i).padStart(53, "0")}`).acquire()),
  );
  await watches.reach(count);
  const bytes = liveHeapBytes() - before;
  await releaseAll(handles);
  return Math.round(bytes / count);
}

async function perWaiter(locks: LockProvider, count: number): Promise<number> {
  const mutex = locks.mutex("memory/one");
  const first = await mutex.acquire();
  const watches = countWatches(locks);
  const before = liveHeapBytes();
  const served = Array.from({ length: count }, () => mutex.withLock(() => {}));
  // The own node, the one ahead and, but for the first in the queue, the one ahead of that.
  await watches.reach(3 * count - 1);
  const bytes = liveHeapBytes() - before;
  await first.release();
  await Promise.all(served);
  return Math.round(bytes / count);
}

/** Counts answered reads with a watch from now on. */
function countWatches(locks: LockProvider): { reach(count: number): Promise<void> } {
  let answered = 0;
  const listening = locks.events.on("request-settled", ({ op, outcome }) => {
    if (op === "getData" && outcome === "ok") answered++;
  });
  return {
    async reach(count) {
      await eventually(() => answered >= count, {
        what: `${count} watches in place`,
        withinMs: settleWithinMs,
        detail: () => `${answered} are`,
      });
      listening[Symbol.dispose]();
    },
  };
}

async function releaseAll(handles: readonly LockHandle[]): Promise<void> {
  await Promise.all(handles.map((handle) => handle.release()));
}
