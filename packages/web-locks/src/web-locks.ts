import type { AnyToken, HoldInfo, LockHandle, LockProvider, Owner, ReadWriteLock } from "@holdfast/core";
import { checkKnownKeys, checkObject, checkString } from "@holdfast/core/internal";
import type {
  WebLock,
  WebLockCallback,
  WebLockInfo,
  WebLockManager,
  WebLockOptions,
  WebLockSnapshot,
} from "./api.js";
import { type Asked, readArguments } from "./arguments.js";
import { HeldLock } from "./held-lock.js";
import { encodeName } from "./name.js";
import { type Request, RequestQueue } from "./request-queue.js";

/** How a manager uses its provider. */
export interface WebLocksOptions {
  /** The prefix of each name at the backend, as a path of the provider's lock names. Default `"web-locks/"`. */
  prefix?: string;
}

/**
 * The lock API of the Web Locks standard over a provider: `navigator.locks` for processes on many machines. Each name is a read-write lock of
 * the provider, `<prefix><name>`, so that Java clients can share it. The provider stays the caller's: closing it ends all holds and requests.
 * Throws `InvalidArgumentError` for unknown options and for a prefix that is no string.
 *
 * @example
 * ```ts
 * import { webLocks } from "@holdfast/web-locks";
 *
 * const manager = webLocks(locks); // of zookeeperLocks(), redisLocks() or memoryLocks()
 * await manager.request("prices", { mode: "shared" }, async (lock) => makeReport(lock.lost));
 * ```
 */
export function webLocks<Token extends AnyToken = AnyToken>(
  provider: LockProvider<Token>,
  options: WebLocksOptions = {},
): WebLockManager<Token> {
  checkObject("webLocks: options", options);
  checkKnownKeys("webLocks", options, new Set(["prefix"]));
  checkString("webLocks: prefix", options.prefix);
  return new Manager(provider, options.prefix ?? "web-locks/") as WebLockManager<Token>;
}

/** What a manager keeps of one name, as long as one request for the name has not ended. */
class NamedLock {
  readonly lock: ReadWriteLock;
  readonly queue: RequestQueue;
  readonly held = new Set<HeldLock>();
  /** The number of requests that have not ended. A request between its grant and its hold is in no list. */
  users = 0;

  constructor(lock: ReadWriteLock) {
    this.lock = lock;
    this.queue = new RequestQueue(lock);
  }
}

class Manager implements WebLockManager {
  readonly #provider: LockProvider;
  readonly #prefix: string;
  readonly #names = new Map<string, NamedLock>();

  constructor(provider: LockProvider, prefix: string) {
    this.#provider = provider;
    this.#prefix = prefix;
  }

  async request<T>(
    name: string,
    first: WebLockOptions | WebLockCallback<never, T> | null | undefined,
    second?: WebLockCallback<never, T>,
  ): Promise<T> {
    const [options, callback] =
      second === undefined ? [{}, first] : [(first ?? {}) as WebLockOptions, second];
    const asked = readArguments(name, options, callback);
    const body = callback as WebLockCallback<WebLock | null, T>;
    const named = this.#named(asked.name);
    named.users += 1;
    try {
      let handle = await this.#granted(named, asked);
      // What this request has asked the holder for has come too late for that one and reached its own hold, which nothing else could end now.
      while (asked.steal && handle?.revokeRequested.aborted === true) {
        await handle[Symbol.asyncDispose]();
        handle = await this.#granted(named, asked);
      }
      if (handle === null) return await body(null);
      const held = new HeldLock(asked.name, asked.mode, handle);
      named.held.add(held);
      try {
        return await held.settle(() => body(held.forCallback()));
      } finally {
        named.held.delete(held);
      }
    } finally {
      named.users -= 1;
      if (named.users === 0) this.#names.delete(asked.name);
    }
  }

  async query(): Promise<WebLockSnapshot> {
    const held: WebLockInfo[] = [];
    const pending: WebLockInfo[] = [];
    const clientId = this.#provider.id;
    const names = [...this.#names].map(([name, named]) => ({ name, named, before: [...named.held] }));
    const snapshots = await Promise.all(names.map(({ named }) => named.lock.inspect({ maxPending: 0 })));
    const others: WebLockInfo[] = [];
    for (const [i, { name, named, before }] of names.entries()) {
      for (const { mode } of named.held) held.push({ name, mode, clientId });
      for (const { mode } of named.queue.pending) pending.push({ name, mode, clientId });
      // Holds of this manager that began or ended while the backend was asked are its own too.
      const own = new Set([...before, ...named.held].map(({ owner }) => owner.id));
      for (const { mode, owner, heldByThisProvider, session, backendId } of snapshots[i]?.held ?? []) {
        if (!heldByThisProvider) others.push({ name, mode, clientId: session ?? backendId });
        // A hold of the provider without an owner is a lock that it only keeps.
        else if (owner !== null && !own.has(owner.id)) others.push({ name, mode, clientId });
      }
    }
    return { held: [...held, ...others], pending };
  }

  #named(name: string): NamedLock {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const named = new NamedLock(this.#provider.readWriteLock(`${this.#prefix}${encodeName(name)}`));
    this.#names.set(name, named);
    return named;
  }

  async #granted(named: NamedLock, asked: Asked): Promise<LockHandle | null> {
    const { queue } = named;
    let giveUp = (): void => {};
    let ended: Promise<void> | undefined;
    try {
      const handle = await new Promise<LockHandle | null>((settled, failed) => {
        let own: Owner | undefined;
        const granted = (handle: LockHandle | null): void => {
          own = handle?.owner;
          settled(handle);
        };
        const request: Request = { ...asked, granted, failed };
        giveUp = () => queue.withdraw(request, asked.signal?.reason);
        asked.signal?.addEventListener("abort", giveUp);
        queue.add(request);
        // The request is queued before the present holders lose the lock, so that it is the first to be granted.
        if (asked.steal)
          ended = this.#endHolders(named, () => own).catch((error) => queue.withdraw(request, error));
      });
      // The request to release that was sent to the holder may reach this request's own hold, which was granted meanwhile.
      await ended;
      return handle;
    } finally {
      asked.signal?.removeEventListener("abort", giveUp);
    }
  }

  /**
   * Ends the present holds. Those of this manager end at once. Holders of other managers, on the same provider too, are
   * asked to release; so are holds that were granted to this manager in this moment. `own`: the owner of the request that
   * steals, which may hold by now.
   */
  async #endHolders({ held, lock }: NamedLock, own: () => Owner | undefined): Promise<void> {
    await Promise.all([...held].map((each) => each.steal()));
    const { held: present } = await lock.inspect({ maxPending: 0 });
    const isOther = ({ heldByThisProvider, owner }: HoldInfo): boolean =>
      !heldByThisProvider || (owner !== null && owner.id !== own()?.id);
    if (!present.some(isOther)) return;
    await lock.requestRevoke();
    // Until one more answer has come, the request to release may still reach this request's own hold. On Redis, where it
    // comes over another connection, it may also come after that answer. The hold then ends as one that was stolen.
    if (own() !== undefined) await lock.inspect({ maxPending: 0 });
  }
}
