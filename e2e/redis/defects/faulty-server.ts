import type { AcquireOptions, LockHandle } from "@holdfast/core";
import { type RedisLocks, type RedisLocksOptions, redisLocks } from "@holdfast/redis-recipes";
import { eventually, type RedisConnection, type RedisNode, type RedisProxy } from "@holdfast/test-servers";
import { onTestFinished } from "vitest";
import { OneServer } from "../../support/redis/one-redis-server.js";

export interface LinkedClient {
  readonly locks: RedisLocks;
  /** The client's own way to the server. A fault on it affects this client alone. */
  readonly link: RedisProxy;
}

/** One real server, with clients that each reach it through a link of their own. */
export class FaultyServer extends OneServer {
  /** A client that is connected and subscribed, and whose scripts the server knows. */
  async client(options: Omit<RedisLocksOptions, "url"> = {}): Promise<LinkedClient> {
    const client = await this.linked({ releaseTimeoutMs: 2_000, ...options });
    const { locks, link } = client;
    onTestFinished(() => link.clearRules());
    // A revocable request waits for the subscription. The requests for all kinds make each script known.
    for (const take of Object.values(kinds)) {
      const warm = await take(locks, this.name("warm"), { revocable: true });
      await warm.confirm();
      await warm.release();
    }
    return client;
  }

  /** One more client, whose URL leads through the link of another. */
  async through(options: RedisLocksOptions): Promise<RedisLocks> {
    const locks = redisLocks(options);
    onTestFinished(async () => {
      await locks.close({ releaseTimeoutMs: 300 });
    });
    await (await locks.mutex(this.name("warm")).acquire({ revocable: true })).release();
    return locks;
  }

  /** Watches everything that the server executes from now on, including the commands of scripts. */
  async monitor(): Promise<Monitor> {
    const connection = await this.node.connect();
    onTestFinished(() => connection.close());
    await connection.command("MONITOR");
    return new Monitor(connection);
  }
}

/** Plays a client whose process has died: nothing that it sends arrives any more. */
export async function die({ link }: LinkedClient): Promise<void> {
  await link.setMode("refuse");
  link.resetAll();
}

export class Monitor {
  readonly #connection: RedisConnection;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  /** One line for each command, oldest first: `time [db client] "NAME" "argument"...`; a command of a script has `[db lua]`. */
  get lines(): readonly string[] {
    return this.#connection.messages.map(String);
  }

  /** Waits until everything that was executed before this call is in `lines`. */
  async caughtUp(node: RedisNode): Promise<void> {
    const mark = `mark-${performance.now()}`;
    await node.command("ECHO", mark);
    await eventually(() => this.lines.some((line) => line.includes(mark)), {
      what: "the monitor to catch up",
    });
  }
}

export type Take = (locks: RedisLocks, name: string, options?: AcquireOptions) => Promise<Held>;
export type Held = Omit<LockHandle, "mode">;

export type Kind = "mutex" | "re-entrant mutex" | "fair mutex" | "spin mutex" | "read" | "write" | "permit";

/** Every kind of grant that has a lease of its own at the server. */
export const kinds: Readonly<Record<Kind, Take>> = {
  mutex: (locks, name, options) => locks.mutex(name).acquire(options),
  "re-entrant mutex": (locks, name, options) => locks.reentrantMutex(name).acquire(options),
  "fair mutex": (locks, name, options) => locks.fairMutex(name).acquire(options),
  "spin mutex": (locks, name, options) => locks.spinMutex(name).acquire(options),
  read: (locks, name, options) => locks.readWriteLock(name).read.acquire(options),
  write: (locks, name, options) => locks.readWriteLock(name).write.acquire(options),
  permit: async (locks, name, options) => {
    const permits = locks.permitSemaphore(name);
    await permits.trySetLimit(1);
    return await permits.acquire(options);
  },
};

export const kindNames = Object.keys(kinds) as Kind[];

/** The key that holds the grants: a set of them for a permit semaphore, and the lock's own key for all other kinds. */
export function holdKeyOf(kind: Kind, name: string): string {
  return kind === "permit" ? `{${name}}:timeout` : name;
}

/** Stops the event loop, as a long computation or a pause of the machine does: neither timers nor sockets are served. */
export function stallLoop(forMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
}
