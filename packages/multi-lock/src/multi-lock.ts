import type { AnyToken, MultiHandle, MultiLock, MultiLockOptions, MultiLockPart } from "@holdfast/core";
import { scopeArguments } from "@holdfast/core/internal";
import { gather, Missing, timeoutError } from "./gathering.js";
import { HeldTogether } from "./multi-handle.js";
import { type MultiAsk, resolveAsk } from "./options.js";
import { checkParts, type Parts, partsOf } from "./parts.js";
import { type MultiBody, runMultiScope } from "./run-scope.js";

/**
 * Several locks as one: all of them or none. The parts may be of different providers and backends.
 *
 * The parts are taken in the order of their names, within one `waitMs` for all. While one part is waited for, only parts
 * with smaller names are held, and no place in another queue is taken. So sets that overlap cannot deadlock with each other.
 * Nor can they deadlock with clients that take the same locks one after the other in that order, such as Curator's
 * `InterProcessMultiLock` with sorted paths. Neighbours in that order are taken in one step when all are free, where their
 * backend can grant several together: ZooKeeper in one transaction, Redis mutexes by one script, which in a cluster needs
 * them in one slot.
 *
 * Compatible with Curator's `InterProcessMultiLock` part by part: the nodes are those of the mutexes. Curator takes the parts
 * in the order in which they are passed, and waits the whole time for each of them.
 *
 * Throws `InvalidArgumentError` for an empty list, for a part that is not a lock, and for the same lock twice, also where it
 * is inside multi-locks that are parts.
 *
 * @example
 * ```ts
 * import { multiLock } from "@holdfast/multi-lock";
 *
 * const transfer = multiLock([locks.mutex("accounts/7"), locks.mutex("accounts/3")]);
 * await transfer.withLock({ waitMs: 2_000 }, async (lock, { signal }) => {
 *   const [three, seven] = lock.parts; // in the order of their names
 *   await move({ from: { id: 7, fence: seven.token }, to: { id: 3, fence: three.token }, signal });
 * });
 * ```
 */
export function multiLock<Token extends AnyToken = AnyToken>(
  parts: readonly MultiLockPart<Token>[],
): MultiLock<Token> {
  const together: MultiLock = new LocksTogether(checkParts(parts));
  return together as MultiLock<Token>;
}

class LocksTogether implements MultiLock {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
    partsOf.set(this, parts);
  }

  async acquire(options?: MultiLockOptions): Promise<MultiHandle> {
    return await this.#take(resolveAsk("acquire", this.#parts, options));
  }

  async tryAcquire(options?: MultiLockOptions): Promise<MultiHandle | null> {
    const taken = await gather(resolveAsk("tryAcquire", this.#parts, options, 0));
    return taken instanceof Missing ? null : new HeldTogether(taken);
  }

  withLock<T>(body: MultiBody<T>): Promise<T>;
  withLock<T>(options: MultiLockOptions, body: MultiBody<T>): Promise<T>;
  async withLock<T>(first: MultiLockOptions | MultiBody<T>, second?: MultiBody<T>): Promise<T> {
    const { options, body } = scopeArguments("withLock", first, second);
    const ask = resolveAsk("withLock", this.#parts, options);
    return await runMultiScope(await this.#take(ask), ask, body);
  }

  tryWithLock<T>(body: MultiBody<T>): Promise<T | null>;
  tryWithLock<T>(options: MultiLockOptions, body: MultiBody<T>): Promise<T | null>;
  async tryWithLock<T>(first: MultiLockOptions | MultiBody<T>, second?: MultiBody<T>): Promise<T | null> {
    const { options, body } = scopeArguments("tryWithLock", first, second);
    const ask = resolveAsk("tryWithLock", this.#parts, options, 0);
    const taken = await gather(ask);
    return taken instanceof Missing ? null : await runMultiScope(new HeldTogether(taken), ask, body);
  }

  async #take(ask: MultiAsk): Promise<HeldTogether> {
    const taken = await gather(ask);
    if (taken instanceof Missing) throw timeoutError(ask, taken);
    return new HeldTogether(taken);
  }
}
