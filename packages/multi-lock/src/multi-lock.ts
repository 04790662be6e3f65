import {
  type Acquirable,
  InvalidArgumentError,
  type MultiHandle,
  type MultiLock,
  type MultiLockOptions,
} from "@holdfast/core";
import { show } from "@holdfast/core/internal";
import { gather, Missing, timeoutError } from "./gathering.js";
import { HeldTogether } from "./multi-handle.js";
import { type MultiAsk, resolveAsk } from "./options.js";
import { checkParts, type Parts } from "./parts.js";
import { type MultiBody, runMultiScope } from "./run-scope.js";

/**
 * Several locks as one: all of them or none. The parts may be of different providers and backends.
 *
 * They are taken in the order of their names, within one `waitMs` for all, and while one is waited for, only smaller names
 * are held and no place in any other queue is taken: so sets that overlap cannot deadlock, whoever else takes the same
 * locks one after the other in that order, Curator's `InterProcessMultiLock` with sorted paths included. Neighbours of
 * one backend that can grant several together (ZooKeeper in one transaction, Redis mutexes by one script, in a cluster those of
 * one slot) are taken in one step when all are free.
 *
 * Compatible with Curator's `InterProcessMultiLock` part by part: the nodes are those of the mutexes. That one takes its
 * parts as given, and gives each of them the whole time.
 *
 * Throws `InvalidArgumentError` for no parts, for what is not a lock, and for the same lock twice.
 *
 * @example
 * ```ts
 * const transfer = multiLock([locks.mutex("accounts/7"), locks.mutex("accounts/3")]);
 * await transfer.withLock({ waitMs: 2_000 }, async (lock, { signal }) => {
 *   const [three, seven] = lock.parts; // in the order of their names
 *   await move({ from: { id: 7, fence: seven.token }, to: { id: 3, fence: three.token }, signal });
 * });
 * ```
 */
export function multiLock(parts: readonly Acquirable[]): MultiLock {
  return new LocksTogether(checkParts(parts));
}

class LocksTogether implements MultiLock {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async acquire(options?: MultiLockOptions): Promise<MultiHandle> {
    return await this.#take(resolveAsk("acquire", this.#parts, options));
  }

  async tryAcquire(options?: MultiLockOptions): Promise<MultiHandle | null> {
    const taken = await gather(resolveAsk("tryAcquire", this.#parts, options, 0));
    return taken instanceof Missing ? null : new HeldTogether(taken);
  }

  async withLock<T>(options: MultiLockOptions, body: MultiBody<T>): Promise<T> {
    if (typeof body !== "function") {
      throw new InvalidArgumentError(`withLock: the body must be a function; got ${show(body)}`);
    }
    const ask = resolveAsk("withLock", this.#parts, options);
    return await runMultiScope(await this.#take(ask), ask, body);
  }

  async #take(ask: MultiAsk): Promise<HeldTogether> {
    const taken = await gather(ask);
    if (taken instanceof Missing) throw timeoutError(ask, taken);
    return new HeldTogether(taken);
  }
}
