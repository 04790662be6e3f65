import type { LockHandle, LockProvider } from "@holdfast/core";
import {
  eventually,
  type StartZooKeeperOptions,
  startEnsemble,
  startZooKeeper,
  startZooKeeperProxy,
  type ZooKeeperEnsemble,
  type ZooKeeperNode,
  type ZooKeeperProxy,
} from "@holdfast/test-servers";
import { type ZooKeeperLocks, type ZooKeeperLocksOptions, zookeeperLocks } from "@holdfast/zk-recipes";
import { expect } from "vitest";
import { RawSession } from "./raw-session.js";

/** A provider with its own link. Only the frames of this provider pass on it, so that a test can drop one of them. */
export interface Actor {
  readonly locks: ZooKeeperLocks;
  readonly proxy: ZooKeeperProxy;
}

/** A real server with an operator and actors, which are closed with it. Every path that it gave out must be empty at the end. */
export class Stage {
  /** The server of the actors. */
  readonly server: ZooKeeperNode;
  /** The server of the operator, at which sessions are ended. */
  readonly office: ZooKeeperNode;
  readonly #ensemble: ZooKeeperEnsemble | null;
  readonly #actors: Actor[] = [];
  readonly #paths: string[] = [];
  #operator: RawSession;

  private constructor(server: ZooKeeperNode, operator: RawSession, ensemble: ZooKeeperEnsemble | null) {
    this.server = server;
    this.office = ensemble?.nodes[1] ?? server;
    this.#ensemble = ensemble;
    this.#operator = operator;
  }

  static async open(options: StartZooKeeperOptions = {}): Promise<Stage> {
    const server = await startZooKeeper(options);
    return new Stage(server, await RawSession.open(server.connectString), null);
  }

  /** Starts three servers, with all actors on one of them and the operator on another. */
  static async openEnsemble(): Promise<Stage> {
    const ensemble = await startEnsemble();
    const [server, office] = ensemble.nodes as [ZooKeeperNode, ZooKeeperNode];
    return new Stage(server, await RawSession.open(office.connectString), ensemble);
  }

  get operator(): RawSession {
    return this.#operator;
  }

  /** Call it after a restart or pause of the server: the operator never reconnects, and the server may still refuse clients. */
  async newOperator(): Promise<void> {
    this.#operator.destroy();
    this.#operator = await eventually(() => RawSession.open(this.office.connectString), {
      what: "the operator to be connected",
    });
  }

  /** Does not use `ready()`, which rejects if a server refuses connections for long enough. */
  async backAgain(...actors: readonly Actor[]): Promise<void> {
    await eventually(() => actors.every(({ locks }) => locks.state === "connected"), {
      what: "contact again",
      withinMs: 30_000,
    });
  }

  /** A new lock path that exists, with its parents, so that every round on it takes the same frames. */
  async path(): Promise<string> {
    const path = `/faults/l${this.#paths.length}`;
    this.#paths.push(path);
    for (const level of ["/faults", path]) {
      await this.#operator.send("create", { path: level, data: null, acl: openAcl, flags: 0 });
    }
    return path;
  }

  async actor(options: ZooKeeperLocksOptions = {}): Promise<Actor> {
    const proxy = await startZooKeeperProxy({ target: this.server.connectString });
    const locks = zookeeperLocks({ connect: proxy.connectString, sessionTimeoutMs: 6_000, ...options });
    const actor = { locks, proxy };
    this.#actors.push(actor);
    await locks.ready();
    return actor;
  }

  /**
   * Waits until the actor has `count` waiters on `path` and watches their own nodes and the nodes ahead of them. From then on
   * a hand-off needs no request. The actor's trace must have been reset before the waiters came.
   */
  async queued(actor: Actor, path: string, count = 1): Promise<void> {
    await eventually(
      async () => {
        const answered = actor.proxy.trace.filter(({ kind, err }) => kind === "reply" && err === 0);
        const atOnce = answered.filter(({ op }) => op === "setWatches").length;
        const read = answered.filter(({ op }) => op === "getData");
        const { sessionId } = sessionOf(actor);
        const own = (await this.#operator.queue(path)).filter(({ session }) => session === sessionId);
        if (own.length < count) return false;
        // A waiter whose `setWatches` was cut off reads its own node and the one ahead instead.
        const byReads = own
          .slice(-count)
          .filter((node) => read.some((entry) => entry.path === node.path)).length;
        return atOnce + byReads >= count && read.length >= 2 * byReads;
      },
      { what: `${count} waiters on ${path} with their watches`, withinMs: 20_000, everyMs: 2 },
    );
  }

  /** Waits until the queue on `path` is empty. `withinMs` is how late a delete may be confirmed. */
  async empty(path: string, withinMs = soonMs): Promise<void> {
    let left: string[] = [];
    await eventually(
      async () => {
        left = await this.#operator.children(path);
        return left.length === 0;
      },
      { what: `${path} to be empty`, withinMs, everyMs: 5, detail: () => left.join("\n") },
    );
  }

  /** Ends all sessions and checks once more that every path is empty. */
  async close(): Promise<void> {
    try {
      await Promise.all(this.#actors.map(({ locks }) => locks.close({ releaseTimeoutMs: 1_000 })));
      for (const path of this.#paths) expect(await this.#operator.children(path), path).toEqual([]);
    } finally {
      await Promise.all(this.#actors.map(({ proxy }) => proxy.close()));
      this.#operator.destroy();
      await (this.#ensemble ?? this.server).stop();
    }
  }
}

const openAcl = [{ perms: 31, scheme: "world", id: "anyone" }];

/** Less than a session of an actor lasts: a node that only goes with its session was left behind. */
const soonMs = 5_000;

/** The current session of the actor's provider. */
export function sessionOf(actor: Actor): { sessionId: bigint; password: Uint8Array } {
  const session = actor.proxy.sessions.at(-1);
  if (session === undefined) throw new Error("the provider has no session yet");
  return session;
}

/** Reads `lost`, which sets the watch on the holder's own node, and waits until the server's answer has passed the proxy. */
export async function attended({ proxy }: Actor, handle: LockHandle): Promise<void> {
  expect(handle.lost.aborted).toBe(false);
  await proxy.waitFor(({ kind, op }) => kind === "reply" && op === "getData", { what: "the own-node watch" });
}

/** Reads the state in each turn of the event loop until it is `lost`. Returns the last time at which it was not. */
export async function lastBelieved(handle: LockHandle): Promise<number> {
  let at = performance.now();
  while (handle.state !== "lost") {
    at = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return at;
}

/** Expects that no actor has a hold left for which a loss could still be reported. */
export function expectNoHolds(...actors: readonly { readonly locks: LockProvider }[]): void {
  for (const { locks } of actors) expect(locks.holds()).toEqual([]);
}

/** Expects no holds and an empty queue, and that `next` gets the lock before a session could have ended. */
export async function expectFree(stage: Stage, path: string, next: Actor, ...others: Actor[]): Promise<void> {
  await stage.empty(path);
  expectNoHolds(next, ...others);
  const handle = await next.locks.mutex(path).acquire({ waitMs: soonMs });
  expect(await handle.release()).toBe("released");
}
