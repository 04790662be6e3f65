import type { LockHandle, Millis, Mutex } from "@holdfast/core";
import { eventually, startZooKeeperProxy, type ZooKeeperProxy } from "@holdfast/test-servers";
import { type ZooKeeperLocks, zookeeperLocks } from "@holdfast/zk-recipes";

export interface HerdOptions {
  /** `host:port` of a server; all clients reach it through one counting proxy. */
  readonly server: string;
  /** Clients that wait, each with a session of its own. Default 200. */
  readonly waiters?: number;
  readonly onProgress?: (what: string) => void;
}

/** What the server has to do for one hand-off while all other clients wait. */
export interface HandOffCost {
  readonly what: string;
  /** Requests that the server gets, without keep-alives. */
  readonly requests: number;
  /** Watch events that it sends. */
  readonly events: number;
  /** Requests, their answers and events of a whole drain, divided by its hand-offs; `null` if nothing is drained. */
  readonly packetsPerHandOff: number | null;
}

export interface HerdReport {
  readonly waiters: number;
  readonly costs: readonly HandOffCost[];
}

const settleWithinMs: Millis = 120_000;
/** Nothing is under way any more when no frame has passed for this time. */
const quietMs: Millis = 300;
const quietLooks = 10;

/**
 * Measures server packets for each hand-off with many waiters, for three locks: the naive lock, whose waiters all wake
 * up; the fair lock, where one wakes up; and readers behind a second writer, which the hand-off to that writer does not
 * concern.
 */
export async function measureHerd(options: HerdOptions): Promise<HerdReport> {
  const { server, waiters = 200, onProgress = () => {} } = options;
  const proxy = await startZooKeeperProxy({ target: server });
  const clients: ZooKeeperLocks[] = [];
  try {
    for (let made = 0; made < waiters + 2; made++) {
      clients.push(zookeeperLocks({ connect: proxy.connectString, sessionTimeoutMs: 30_000 }));
    }
    await Promise.all(clients.map((locks) => locks.ready({ waitMs: settleWithinMs })));
    const stage = new Stage(proxy, clients);
    const costs: HandOffCost[] = [];
    for (const measure of [naive, fair, readersBehindWriters]) {
      const cost = await measure(stage);
      onProgress(cost.what);
      costs.push(cost);
    }
    return { waiters, costs };
  } finally {
    await Promise.all(clients.map((locks) => locks.close()));
    await proxy.close();
  }
}

class Stage {
  readonly #proxy: ZooKeeperProxy;
  readonly holder: ZooKeeperLocks;
  readonly next: ZooKeeperLocks;
  readonly waiters: readonly ZooKeeperLocks[];

  constructor(proxy: ZooKeeperProxy, [holder, next, ...waiters]: readonly ZooKeeperLocks[]) {
    this.#proxy = proxy;
    this.holder = holder as ZooKeeperLocks;
    this.next = next as ZooKeeperLocks;
    this.waiters = waiters;
  }

  /** The frames of requests and events since the last call, counted once nothing is under way. */
  async count(): Promise<{ requests: number; events: number }> {
    let seen = -1;
    let sinceMs = performance.now();
    let looks = 0;
    await eventually(
      () => {
        const { requests, events } = this.#proxy.counts();
        looks += 1;
        if (requests + events !== seen) {
          seen = requests + events;
          sinceMs = performance.now();
          looks = 0;
        }
        // If the event loop was too busy to call this often enough, it has not seen that the wire was quiet.
        return looks >= quietLooks && performance.now() - sinceMs >= quietMs;
      },
      { what: "the wire to be quiet", withinMs: settleWithinMs },
    );
    const { requests, events } = this.#proxy.counts();
    this.#proxy.reset();
    return { requests, events };
  }
}

async function naive(stage: Stage): Promise<HandOffCost> {
  return await drain("naive lock", stage, (locks) => locks.naiveMutex("/herd/naive"));
}

async function fair(stage: Stage): Promise<HandOffCost> {
  return await drain("fair mutex", stage, (locks) => locks.mutex("/herd/fair"));
}

/** One hand-off while all waiters are in place, then all others, one after the other. */
async function drain(
  what: string,
  stage: Stage,
  lockOf: (locks: ZooKeeperLocks) => Mutex,
): Promise<HandOffCost> {
  const held = await lockOf(stage.holder).acquire();
  let granted: (handle: LockHandle) => void = () => {};
  const first = new Promise<LockHandle>((resolve) => {
    granted = resolve;
  });
  let released = 0;
  let served = 0;
  const all = stage.waiters.map(async (locks) => {
    const handle = await lockOf(locks).acquire();
    if (served++ === 0) granted(handle);
    else {
      await handle.release();
      released++;
    }
  });
  await stage.count();
  await held.release();
  const next = await first;
  const one = await stage.count();
  await next.release();
  await Promise.all(all);
  const rest = await stage.count();
  const packets = 2 * rest.requests + rest.events;
  return { what, ...one, packetsPerHandOff: packets / released };
}

/** A second writer waits, and all the readers wait behind it. */
async function readersBehindWriters(stage: Stage): Promise<HandOffCost> {
  const lockOf = (locks: ZooKeeperLocks) => locks.readWriteLock("/herd/read-write");
  const held = await lockOf(stage.holder).write.acquire();
  const second = lockOf(stage.next).write.acquire();
  await stage.count();
  const reading = stage.waiters.map((locks) => lockOf(locks).read.acquire());
  await stage.count();
  await held.release();
  const next = await second;
  const cost = await stage.count();
  await next.release();
  for (const handle of await Promise.all(reading)) await handle.release();
  return { what: "writer to writer, readers behind", ...cost, packetsPerHandOff: null };
}
