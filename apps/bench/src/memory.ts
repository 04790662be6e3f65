import type { LockHandle, LockProvider, Millis, Mutex } from "@holdfast/core";
import { redisLocks } from "@holdfast/redis-recipes";
import { eventually } from "@holdfast/test-servers";
import { zookeeperLocks } from "@holdfast/zk-recipes";
import { liveHeapBytes } from "./heap.js";

export interface MemoryOptions {
  readonly connect: string;
  /** Locks held at once. Default 10,000. */
  readonly holds?: number;
  /** Waiters, at most 1,000 on one lock, because each new one reads the queue ahead of it. Default 1,000. */
  readonly waiters?: number;
  readonly onProgress?: (what: string) => void;
}

/**
 * Bytes of heap in our process for everything that belongs to one hold or waiter: handle, promises, queue entry,
 * watches.
 */
export interface MemoryReport {
  readonly holds: number;
  readonly bytesPerHold: number;
  readonly waiters: number;
  readonly bytesPerWaiter: number;
}

const settleWithinMs = 240_000;
const mostInQueue = 1_000;

/** Measures the heap for each hold and each waiter of one provider, once their watches are in place. */
export async function measureMemory(options: MemoryOptions): Promise<MemoryReport> {
  const { connect, ...sizes } = options;
  await using locks = zookeeperLocks({ connect, sessionTimeoutMs: 30_000 });
  return await measureHeap(locks, sizes, {
    held: (count) => countAnswers(locks, "getData", count),
    // One request watches the waiter's own node and the nodes ahead.
    waiting: (count) => countAnswers(locks, "setWatches", count),
  });
}

/** Heartbeats of waiters on Redis do not matter for the heap. At their usual pace they would keep the server busy. */
const aliveMs: Millis = 600_000;

/** Like `measureMemory`, for a client of Redis; `url` is `redis://host:port`. */
export async function measureRedisMemory(
  options: Omit<MemoryOptions, "connect"> & { readonly url: string },
): Promise<MemoryReport> {
  const { url, ...sizes } = options;
  await using locks = redisLocks({ url, aliveMs });
  return await measureHeap(locks, sizes, {
    held: () => async () => {},
    waiting: (count, queues) => () => queued(locks, count / queues, queues),
  });
}

/**
 * Prepares to check whether so many holds, or waiters in so many queues, are complete. The returned function waits for
 * that.
 */
interface Settling {
  held(count: number): () => Promise<void>;
  waiting(count: number, queues: number): () => Promise<void>;
}

async function measureHeap(
  locks: LockProvider,
  options: Omit<MemoryOptions, "connect">,
  settling: Settling,
): Promise<MemoryReport> {
  const { holds = 10_000, waiters = 1_000, onProgress = () => {} } = options;
  await locks.ready();
  onProgress(`${holds} locks held at once`);
  const bytesPerHold = await perHold(locks, holds, settling);
  onProgress(`${waiters} waiters, ${Math.min(waiters, mostInQueue)} on each lock`);
  const bytesPerWaiter = await perWaiter(locks, waiters, settling);
  return { holds, bytesPerHold, waiters, bytesPerWaiter };
}

async function perHold(locks: LockProvider, count: number, { held }: Settling): Promise<number> {
  // What is made only once for all holds is made before the measurement.
  await (await locks.mutex("memory/first").acquire()).release();
  const settled = held(count);
  const before = liveHeapBytes();
  const handles = await Promise.all(
    Array.from({ length: count }, (_, i) => locks.mutex(`memory/${String(i).padStart(53, "0")}`).acquire()),
  );
  await settled();
  const bytes = liveHeapBytes() - before;
  await releaseAll(handles);
  return Math.round(bytes / count);
}

async function perWaiter(locks: LockProvider, count: number, { waiting }: Settling): Promise<number> {
  const queues = Math.ceil(count / mostInQueue);
  const mutexes = Array.from({ length: queues }, (_, i) => locks.mutex(queueName(i)));
  const holders = await Promise.all(mutexes.map((mutex) => mutex.acquire()));
  const settled = waiting(count, queues);
  const before = liveHeapBytes();
  const served = Array.from({ length: count }, (_, i) => (mutexes[i % queues] as Mutex).withLock(() => {}));
  await settled();
  const bytes = liveHeapBytes() - before;
  await releaseAll(holders);
  await Promise.all(served);
  return Math.round(bytes / count);
}

const queueName = (index: number): string => `memory/queue-${index}`;

/** Resolves when each queue has so many waiters. */
async function queued(locks: LockProvider, each: number, queues: number): Promise<void> {
  for (let at = 0; at < queues; at++) {
    const mutex = locks.mutex(queueName(at));
    await eventually(
      async () => ((await mutex.inspect({ maxPending: 0 })).pendingTotal ?? 0) >= Math.floor(each),
      { what: `${each} waiters on each lock`, withinMs: settleWithinMs },
    );
  }
}

/** From now on counts answers to requests that set watches. The returned function resolves when there were so many. */
function countAnswers(
  locks: LockProvider,
  watching: "getData" | "setWatches",
  count: number,
): () => Promise<void> {
  let answered = 0;
  const listening = locks.events.on("request-settled", ({ op, outcome }) => {
    if (op === watching && outcome === "ok") answered++;
  });
  return async () => {
    await eventually(() => answered >= count, {
      what: `${count} answers to ${watching}`,
      withinMs: settleWithinMs,
      detail: () => `${answered} are`,
    });
    listening[Symbol.dispose]();
  };
}

async function releaseAll(handles: readonly LockHandle[]): Promise<void> {
  await Promise.all(handles.map((handle) => handle.release()));
}
