import {
  type FencingToken,
  type HoldState,
  InvalidArgumentError,
  type LockHandle,
  type LockMode,
  type LockView,
  type Millis,
  type MultiHandle,
  type MultiLock,
  type Mutex,
  type Owner,
  type ReleaseOutcome,
  type ScopeContext,
  type WithLockOptions,
} from "@holdfast/core";

type Body<T> = (lock: LockHandle, context: ScopeContext) => PromiseLike<T> | T;

/**
 * A multi-lock as a mutex, for tests that are written for a mutex. What a multi-lock does not have (one name, a token, a
 * look from outside) comes from its lead: the part with the smallest name.
 */
export function asMutex(whole: MultiLock, lead: LockView): Mutex {
  return {
    name: lead.name,
    inspect: (options) => lead.inspect(options),
    requestRevoke: (options) => lead.requestRevoke(options),
    acquire: async (options) => new Shown(await whole.acquire(options)),
    async tryAcquire(options) {
      const handle = await whole.tryAcquire(options);
      return handle === null ? null : new Shown(handle);
    },
    async withLock<T>(first: WithLockOptions | Body<T>, second?: Body<T>): Promise<T> {
      const [options, body] = typeof first === "function" ? [{}, first] : [first, second];
      if (typeof body !== "function") throw new InvalidArgumentError("withLock: the body must be a function");
      return await whole.withLock(options, (handle, context) => body(new Shown(handle), context));
    },
    async tryWithLock<T>(first: WithLockOptions | Body<T>, second?: Body<T>): Promise<T | null> {
      const [options, body] = typeof first === "function" ? [{}, first] : [first, second];
      if (typeof body !== "function")
        throw new InvalidArgumentError("tryWithLock: the body must be a function");
      return await whole.tryWithLock(options, (handle, context) => body(new Shown(handle), context));
    },
  };
}

/** The lead's own handle, for a handle that `asMutex` gave. */
export function leadOf(handle: LockHandle): LockHandle {
  if (!(handle instanceof Shown)) throw new Error(`the handle of "${handle.name}" is none of a multi-lock`);
  return handle.lead;
}

class Shown implements LockHandle {
  readonly #whole: MultiHandle;

  constructor(whole: MultiHandle) {
    this.#whole = whole;
  }

  get lead(): LockHandle {
    return this.#whole.parts[0] as LockHandle;
  }

  get turn(): number {
    return this.lead.turn;
  }

  get name(): string {
    return this.lead.name;
  }

  get token(): FencingToken | null {
    return this.lead.token;
  }

  get mode(): LockMode {
    return this.#whole.mode;
  }

  get owner(): Owner {
    return this.#whole.owner;
  }

  get state(): HoldState {
    return this.#whole.state;
  }

  get lost(): AbortSignal {
    return this.#whole.lost;
  }

  get revokeRequested(): AbortSignal {
    return this.#whole.revokeRequested;
  }

  remainingMs(): Millis {
    return this.#whole.remainingMs();
  }

  assertHeld(minimumMs?: Millis): void {
    this.#whole.assertHeld(minimumMs);
  }

  confirm(options?: { signal?: AbortSignal }): Promise<void> {
    return this.#whole.confirm(options);
  }

  release(options?: { signal?: AbortSignal }): Promise<ReleaseOutcome> {
    return this.#whole.release(options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#whole[Symbol.asyncDispose]();
  }
}
