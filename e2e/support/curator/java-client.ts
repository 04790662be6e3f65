import type { Contention } from "../process/contend.js";
import type { LineProcess } from "../process/line-process.js";
import { CuratorBarrier, CuratorDoubleBarrier } from "./java-barriers.js";
import { CuratorCache } from "./java-cache.js";
import type { ExclusiveRecipe, ReadWriteContention, SemaphoreContention } from "./java-contention.js";
import { CuratorGroupMember } from "./java-group.js";
import { CuratorLeaderLatch, CuratorLeaderSelector } from "./java-leader.js";
import { CuratorMultiLock, CuratorMutex, CuratorSemaphoreMutex } from "./java-mutex.js";
import { answerWithinMs, type CuratorRecipe } from "./java-recipe.js";
import { CuratorReadWriteLock, CuratorSemaphore } from "./java-sharing.js";
import { CuratorAtomicLong, CuratorSharedCount, CuratorSharedValue, fromHex, toHex } from "./java-values.js";

export interface CuratorClientOptions {
  readonly connect: string;
  readonly namespace?: string;
  /** Default 10,000. */
  readonly sessionTimeoutMs?: number;
  /** `user:password`: authenticates, and gives every node to that user alone (`CREATOR_ALL_ACL`). */
  readonly digest?: string;
}

/** One `CuratorFramework`: one session. */
export class CuratorClient {
  /** The states that its listener received, oldest first: `CONNECTED`, `SUSPENDED`, `RECONNECTED`, `LOST`. */
  readonly states: readonly string[];
  /** The events of the watches set with `watch`, oldest first. */
  readonly watched: readonly string[];
  readonly #lines: LineProcess;
  readonly #name: string;
  readonly #onClose: () => void;
  #lastRecipe = 0;

  constructor(lines: LineProcess, name: string, onClose: () => void) {
    this.#lines = lines;
    this.#name = name;
    this.#onClose = onClose;
    const states: string[] = [];
    const watched: string[] = [];
    this.states = states;
    this.watched = watched;
    lines.listen((event, [client, ...words]) => {
      if (client !== name) return;
      if (event === "state") states.push(words.join(" "));
      if (event === "watched") watched.push(words.join(" "));
    });
  }

  async start(options: CuratorClientOptions): Promise<void> {
    const { connect, namespace = "", sessionTimeoutMs = 10_000, digest = "" } = options;
    await this.#ask("connect", connect, namespace, String(sessionTimeoutMs), digest);
  }

  /** The id and the password with which another connection can take this session over, and so end it. */
  async session(): Promise<{ id: bigint; password: Uint8Array }> {
    const [id = "", password = ""] = await this.#ask("session");
    return { id: BigInt(`0x${id}`), password: Buffer.from(password, "hex") };
  }

  /** Resolves at the next change to `state`: `CONNECTED`, `SUSPENDED`, `RECONNECTED`, `LOST`. Call it before the cause. */
  async untilState(state: string, withinMs: number): Promise<void> {
    const pick = (event: string, values: string[]): boolean =>
      event === "state" && values[0] === this.#name && values[1] === state;
    await this.#lines.event(`state ${state}`, pick, withinMs);
  }

  /** A new `InterProcessMutex` object on `path`. */
  mutex(path: string): Promise<CuratorMutex> {
    return this.#make(CuratorMutex, "mutex", path);
  }

  /** A new `InterProcessSemaphoreMutex` object on `path`. */
  semaphoreMutex(path: string): Promise<CuratorSemaphoreMutex> {
    return this.#make(CuratorSemaphoreMutex, "semaphoreMutex", path);
  }

  /** A new `InterProcessMultiLock` object over mutexes on `paths`. */
  multiLock(paths: readonly string[]): Promise<CuratorMultiLock> {
    return this.#make(CuratorMultiLock, "multiLock", ...paths);
  }

  /**
   * A new `InterProcessReadWriteLock` object on `path`. Without `data`, its nodes have the data of all nodes of this client.
   */
  readWriteLock(path: string, data: Uint8Array = new Uint8Array()): Promise<CuratorReadWriteLock> {
    return this.#make(CuratorReadWriteLock, "readWriteLock", path, toHex(data));
  }

  /** A new `InterProcessSemaphoreV2` object on `path`. A count as the limit must be an object of the same JVM. */
  semaphore(path: string, limit: number | CuratorSharedCount): Promise<CuratorSemaphore> {
    const given = typeof limit === "number" ? String(limit) : limit.remoteName;
    return this.#make(CuratorSemaphore, "semaphore", path, given);
  }

  /** A new `LeaderLatch` object on `path`, not started. */
  leaderLatch(path: string, id: string): Promise<CuratorLeaderLatch> {
    return this.#make(CuratorLeaderLatch, "latch", path, id);
  }

  /** A new `LeaderSelector` object on `path`, not started. */
  leaderSelector(
    path: string,
    id: string,
    options: { readonly autoRequeue?: boolean } = {},
  ): Promise<CuratorLeaderSelector> {
    return this.#make(CuratorLeaderSelector, "selector", path, id, String(options.autoRequeue === true));
  }

  /** A new `DistributedBarrier` object on `path`. */
  barrier(path: string): Promise<CuratorBarrier> {
    return this.#make(CuratorBarrier, "barrier", path);
  }

  /** A new `DistributedDoubleBarrier` object on `path`: one of `members`. */
  doubleBarrier(path: string, members: number): Promise<CuratorDoubleBarrier> {
    return this.#make(CuratorDoubleBarrier, "doubleBarrier", path, String(members));
  }

  /** A new `SharedCount` object on `path`, not started. */
  sharedCount(path: string, seed: number): Promise<CuratorSharedCount> {
    return this.#make(CuratorSharedCount, "sharedCount", path, String(seed));
  }

  /** A new `SharedValue` object on `path`, not started. */
  sharedValue(path: string, seed: Uint8Array): Promise<CuratorSharedValue> {
    return this.#make(CuratorSharedValue, "sharedValue", path, toHex(seed));
  }

  /** A new `DistributedAtomicLong` object on `path`. */
  atomicLong(path: string): Promise<CuratorAtomicLong> {
    return this.#make(CuratorAtomicLong, "atomicLong", path);
  }

  /** A new `GroupMember` object on `path`, not started. */
  groupMember(path: string, id: string, data: Uint8Array = new Uint8Array()): Promise<CuratorGroupMember> {
    return this.#make(CuratorGroupMember, "groupMember", path, id, toHex(data));
  }

  /** A `CuratorCache` of the tree at `path`; `changes` is what its listener received, oldest first. */
  cache(path: string): Promise<CuratorCache> {
    return this.#make(CuratorCache, "cache", path);
  }

  /** Sets a watch of ZooKeeper's own client; its events are added to `watched`, as `path type`. `tree` is persistent and recursive. */
  async watch(kind: "data" | "exists" | "children" | "tree", path: string): Promise<void> {
    await this.#ask("watch", kind, path);
  }

  /** Sets the data of a node, or creates it with its parents. */
  async put(path: string, data: string): Promise<void> {
    await this.#ask("put", path, data);
  }

  async delete(path: string): Promise<void> {
    await this.#ask("delete", path);
  }

  /** `Revoker.attemptRevoke` on a lock node. */
  async attemptRevoke(nodePath: string): Promise<void> {
    await this.#ask("attemptRevoke", nodePath);
  }

  /** The nodes on the server under an absolute path, parents before children. The client's namespace is not applied. */
  async dump(path: string): Promise<DumpedNode[]> {
    const words = await this.#ask("dump", path);
    const nodes: DumpedNode[] = [];
    for (let at = 0; at < words.length; at += 6) {
      const [nodePath = "", owner = "", czxid = "", version = "", acl = "", data = ""] = words.slice(
        at,
        at + 6,
      );
      nodes.push({
        path: nodePath,
        ephemeralOwner: BigInt(`0x${owner}`),
        czxid: BigInt(czxid),
        version: Number(version),
        acl,
        data: fromHex(data),
      });
    }
    return nodes;
  }

  /** See `Contender.java`: `grants` times it acquires, adds one to the counter file, writes a line to the log, and releases. */
  async contend(contention: Contention, withinMs: number, recipe: ExclusiveRecipe = "mutex"): Promise<void> {
    const { path, counterFile, logFile, grants, label } = contention;
    const args = [this.#name, recipe, path, counterFile, logFile, String(grants), label];
    await this.#lines.request("contend", args, withinMs);
  }

  /** See `SharingContender.java`. Rejects at the first violation that it sees. */
  async contendSemaphore(
    contention: SemaphoreContention,
    withinMs: number,
  ): Promise<{ readonly mostHolders: number }> {
    const { path, maxLeases, folder, grants, mostAtOnce = 1, label } = contention;
    const args = [this.#name, path, String(maxLeases), folder, String(grants), String(mostAtOnce), label];
    const [most = ""] = await this.#lines.request("contendSemaphore", args, withinMs);
    return { mostHolders: Number(most) };
  }

  /** See `SharingContender.java`. Rejects at the first violation that it sees. */
  async contendReadWrite(
    contention: ReadWriteContention,
    withinMs: number,
  ): Promise<{ readonly writes: number; readonly mostReaders: number }> {
    const { path, counterFile, folder, turns, writeEvery, downgrade = false, label } = contention;
    const numbers = [turns, writeEvery, downgrade].map(String);
    const args = [this.#name, path, counterFile, folder, ...numbers, label];
    const [writes = "", most = ""] = await this.#lines.request("contendReadWrite", args, withinMs);
    return { writes: Number(writes), mostReaders: Number(most) };
  }

  async close(): Promise<void> {
    await this.#ask("close");
    this.#onClose();
  }

  async #make<T extends CuratorRecipe>(
    Recipe: new (lines: LineProcess, kind: string, remoteName: string) => T,
    kind: string,
    ...args: string[]
  ): Promise<T> {
    this.#lastRecipe += 1;
    const remoteName = `${this.#name}/${kind}-${this.#lastRecipe}`;
    // It listens before the object is there, so that it misses no event.
    const recipe = new Recipe(this.#lines, kind, remoteName);
    await this.#lines.request(`${kind}.new`, [remoteName, this.#name, ...args], answerWithinMs);
    return recipe;
  }

  #ask(command: string, ...args: string[]): Promise<string[]> {
    return this.#lines.request(command, [this.#name, ...args], answerWithinMs);
  }
}

export interface DumpedNode {
  readonly path: string;
  /** Session id, unsigned; 0 for a node that is not ephemeral. A container looks like a persistent node. */
  readonly ephemeralOwner: bigint;
  readonly czxid: bigint;
  readonly version: number;
  /** `perms:scheme:id`, sorted, with commas. */
  readonly acl: string;
  readonly data: Uint8Array;
}
