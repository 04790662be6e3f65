import { setTimeout as pass } from "node:timers/promises";
import type { Millis } from "@holdfast/core";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisProxy } from "@holdfast/test-servers";
import { expect } from "vitest";
import { Beliefs, type Place } from "./beliefs.js";
import type { Held, WatchedHold } from "./watched-hold.js";

export const leaseMs: Millis = 2_000;
const patienceMs = 30_000;
const everybody = 1_000;

export const crewOptions: Partial<RedisLocksOptions> = {
  leaseMs,
  heartbeatMs: 200,
  aliveMs: 1_000,
  claimLeaseMs: 1_000,
  connectTimeoutMs: patienceMs,
};

interface Post extends Place {
  readonly what: string;
  take(locks: RedisLocks, waitMs: Millis): Promise<Held>;
}

let crews = 0;

/** All that a crew can hold: one lock of each kind, where the read-write lock has an entry for each side. */
function posts(): Readonly<Record<"mutex" | "fair" | "write" | "read" | "semaphore" | "permit", Post>> {
  const crew = ++crews;
  const name = (what: string): string => `crew-${process.pid}-${crew}-${what}`;
  const alone = { capacity: 1, share: 1 };
  const readWrite = { name: name("read-write"), capacity: everybody };
  const two = { capacity: 2, share: 1 };
  return {
    mutex: {
      ...alone,
      what: "mutex",
      name: name("mutex"),
      take: (locks, waitMs) => locks.mutex(name("mutex")).acquire({ waitMs }),
    },
    fair: {
      ...alone,
      what: "fair mutex",
      name: name("fair"),
      take: (locks, waitMs) => locks.fairMutex(name("fair")).acquire({ waitMs }),
    },
    write: {
      ...readWrite,
      what: "write",
      share: everybody,
      take: (locks, waitMs) => locks.readWriteLock(readWrite.name).write.acquire({ waitMs }),
    },
    read: {
      ...readWrite,
      what: "read",
      share: 1,
      take: (locks, waitMs) => locks.readWriteLock(readWrite.name).read.acquire({ waitMs }),
    },
    semaphore: {
      ...two,
      what: "semaphore",
      name: name("semaphore"),
      take: (locks, waitMs) => locks.plainSemaphore(name("semaphore"), 2).acquire({ waitMs }),
    },
    permit: {
      ...two,
      what: "permit semaphore",
      name: name("permit"),
      take: (locks, waitMs) => locks.permitSemaphore(name("permit")).acquire({ waitMs }),
    },
  };
}

/** Several clients that hold locks of each kind and wait for them. One `Beliefs` judges all of their holds. */
export class Crew {
  readonly beliefs = new Beliefs();
  readonly clients: readonly RedisLocks[];
  readonly #posts = posts();
  readonly #links: readonly RedisProxy[];
  readonly #held: WatchedHold[] = [];
  readonly #waits: { readonly what: string; readonly served: Promise<void> }[] = [];

  private constructor(clients: readonly RedisLocks[], links: readonly RedisProxy[]) {
    this.clients = clients;
    this.#links = links;
  }

  /** @param links all links to the servers, on which requests are counted. */
  static async start(options: readonly RedisLocksOptions[], links: readonly RedisProxy[]): Promise<Crew> {
    const clients = options.map((each) => redisLocks({ ...crewOptions, ...each }));
    await Promise.all(clients.map((locks) => locks.ready()));
    const crew = new Crew(clients, links);
    await crew.setLimit();
    return crew;
  }

  /**
   * Sets the limit as an operator does, at the start and again after the data is gone. Without a limit no permit is granted.
   */
  async setLimit(): Promise<void> {
    const { name, capacity } = this.#posts.permit;
    await this.clients[0]?.permitSemaphore(name).setLimit(capacity);
  }

  /** The name of the mutex, by which a test finds its master. */
  get mutexName(): string {
    return this.#posts.mutex.name;
  }

  /** The first client takes all there is. Each other client then waits for one lock of each kind. */
  async holdAndWait(): Promise<void> {
    const [first, ...others] = this.clients as [RedisLocks, ...RedisLocks[]];
    const { mutex, fair, write, read, semaphore, permit } = this.#posts;
    const taken = [mutex, fair, write, semaphore, semaphore, permit, permit].map(async (post) => {
      this.#held.push(this.#begin(0, post, await post.take(first, patienceMs)));
    });
    await Promise.all(taken);
    for (const [index, locks] of others.entries()) {
      const wanted = [mutex, fair, index % 2 === 0 ? read : write, semaphore, permit];
      for (const post of wanted) {
        const served = this.#serve(index + 1, locks, post);
        served.catch(() => {}); // reported by `end`
        this.#waits.push({ what: `${post.what} of client ${index + 1}`, served });
      }
    }
    await eventually(async () => (await first.mutex(mutex.name).inspect()).pendingTotal === others.length, {
      what: "all to wait for the mutex",
    });
  }

  /** All clients take turns on all kinds. `trouble` is called again and again until they are done. */
  async contend(turns: number, trouble: () => Promise<void>): Promise<void> {
    let over = false;
    const making = (async () => {
      while (!over) await trouble();
    })();
    making.catch(() => {}); // awaited below
    const working = this.clients.flatMap((locks, index) =>
      Object.values(this.#posts).map(async (post) => {
        for (let turn = 0; turn < turns; turn++) await this.#serve(index, locks, post);
      }),
    );
    try {
      await Promise.all(working);
    } finally {
      over = true;
      await making;
    }
    expect(this.beliefs.count).toBe(this.clients.length * Object.keys(this.#posts).length * turns);
  }

  /** The holds of the first client, with the notices that it got of each. */
  get held(): readonly WatchedHold[] {
    return this.#held;
  }

  /**
   * To be called when the trouble is over. Every holder learns how its hold stands, and releases it. Every waiter gets a turn,
   * and no released hold is renewed. Fails with what `beliefs` finds wrong.
   */
  async end(until: "loss" | "doubt" = "loss"): Promise<void> {
    const letting = this.#held.map(async (hold) => {
      const known = () => hold.lost || hold.recovered || hold.doubtedMs === Number.POSITIVE_INFINITY;
      await eventually(known, { what: `the holder of ${hold.handle.name} to know`, withinMs: patienceMs });
      await this.beliefs.release(hold);
    });
    await Promise.all(letting);
    const stuck = await Promise.all(
      this.#waits.map(({ what, served }) =>
        served.then(
          () => null,
          (error: unknown) => `${what}: ${String(error)}`,
        ),
      ),
    );
    expect(stuck.filter((each) => each !== null)).toEqual([]);
    expect(this.beliefs.violations(until)).toEqual([]);
    await this.#quiet();
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((locks) => locks.close({ releaseTimeoutMs: 300 })));
  }

  /** Waits until no script runs in the time in which each hold would be renewed. Then there are no holders and no waiters. */
  async #quiet(): Promise<void> {
    // A release that gives a late grant back may still be on its way.
    await eventually(
      async () => {
        for (const link of this.#links) link.reset();
        await pass(leaseMs / 3 + 100);
        return this.#scripts() === 0;
      },
      { what: "no script to run any more", withinMs: leaseMs * 2, detail: () => `${this.#scripts()} ran` },
    );
  }

  #scripts(): number {
    const counts = this.#links.map((link) => link.counts().byName);
    return counts.reduce((sum, each) => sum + (each.EVALSHA ?? 0) + (each.EVAL ?? 0), 0);
  }

  async #serve(index: number, locks: RedisLocks, post: Post): Promise<void> {
    const hold = this.#begin(index, post, await post.take(locks, patienceMs));
    await pass(3);
    await this.beliefs.release(hold);
  }

  #begin(index: number, post: Post, handle: Held): WatchedHold {
    return this.beliefs.begin(
      `${post.what} of client ${index}`,
      this.clients[index] as RedisLocks,
      post,
      handle,
    );
  }
}
