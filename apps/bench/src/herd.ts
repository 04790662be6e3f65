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

/** What the server has to do for one hand-off while all the others wait. */
export interface HandOffCost {
  readonly what: string;
  /** Requests that it is sent, keep-alives apart. */
  readonly requests: number;
  /** Watch events that it sends. */
  readonly events: number;
  /** Requests, their answers and events, of a whole drain divided by its hand-offs; `null` where nothing is drained. */
  readonly packetsPerHandOff: number | null;
}

export interface HerdReport {
  readonly waiters: number;
  readonly costs: readonly HandOffCost[];
}

const settleWithinMs: Millis = 120_000;
/** Nothing is under way any more when no frame has passed for so long. */
const quietMs: Millis = 300;
const quietLooks = 10;

/**
 * Server packets for each hand-off with many waiters: of the naive lock, whose waiters all wake up, of the fair one, where
 * one does, and of readers behind a second writer, whom the hand-off to that writer is none of their business.
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

  /** Frames of requests and of events since the last call, once nothing is under way. */
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
        // A loop that was too busy to look has not seen that it was quiet.
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

/** One hand-off with all in place, then all of them, one after the other. */
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

/** A second writer waits, and all the readers behind it. */
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
