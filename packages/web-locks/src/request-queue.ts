import type { LockHandle, ReadWriteLock } from "@holdfast/core";
import type { Asked } from "./arguments.js";

/** A request that waits, or holds. Only one of `granted` and `failed` is called, and only once. */
export interface Request extends Asked {
  granted(handle: LockHandle | null): void;
  failed(error: unknown): void;
}

/** The abort reason of a request that is called back, and asked again after a request that steals. */
const putBack = new Error("another request goes first");

/** The request for which the provider is asked now. */
interface Current {
  readonly request: Request;
  readonly callBack: AbortController;
  /** Set when the request was withdrawn meanwhile, for this reason. It is then not put back. */
  withdrawn?: { readonly reason: unknown };
}

/**
 * The requests of one manager for one name, in their order. The provider is asked for one of them at a time, so their order
 * does not depend on the order in which its backend serves waiters. When a request is granted, the provider is asked for the
 * next one. So readers follow each other at once, and of several writers only one waits at the backend.
 */
export class RequestQueue {
  readonly #lock: ReadWriteLock;
  readonly #waiting: Request[] = [];
  #current: Current | null = null;

  constructor(lock: ReadWriteLock) {
    this.#lock = lock;
  }

  get pending(): readonly Request[] {
    return this.#current === null ? this.#waiting : [this.#current.request, ...this.#waiting];
  }

  add(request: Request): void {
    // By the standard, a request behind one that waits cannot be granted. A request with `ifAvailable` does not wait: behind
    // such a request, the backend is asked whether both may hold.
    if (request.ifAvailable && this.pending.some(({ ifAvailable }) => !ifAvailable))
      return request.granted(null);
    if (request.steal) {
      this.#waiting.unshift(request);
      this.#current?.callBack.abort(putBack);
    } else this.#waiting.push(request);
    this.#askNext();
  }

  /** Ends the wait of a request, which fails with the reason. Has no effect once the request was granted. */
  withdraw(request: Request, reason: unknown): void {
    if (this.#current?.request === request) {
      this.#current.withdrawn = { reason };
      this.#current.callBack.abort(reason);
      return;
    }
    const at = this.#waiting.indexOf(request);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    request.failed(reason);
  }

  #askNext(): void {
    if (this.#current !== null) return;
    const request = this.#waiting.shift();
    if (request === undefined) return;
    this.#current = { request, callBack: new AbortController() };
    void this.#ask(this.#current);
  }

  async #ask(current: Current): Promise<void> {
    const { request, callBack } = current;
    const { signal } = callBack;
    const side = request.mode === "shared" ? this.#lock.read : this.#lock.write;
    const options = { revocable: true, signal };
    try {
      const handle = request.ifAvailable ? await side.tryAcquire(options) : await side.acquire(options);
      if (signal.aborted) {
        await handle?.[Symbol.asyncDispose]();
        throw signal.reason;
      }
      this.#current = null;
      request.granted(handle);
    } catch (error) {
      this.#current = null;
      if (current.withdrawn !== undefined) request.failed(current.withdrawn.reason);
      else if (error === putBack) this.#putBack(request);
      else request.failed(error);
    }
    this.#askNext();
  }

  /** Puts the request back behind the requests that steal and before all others. */
  #putBack(request: Request): void {
    const at = this.#waiting.findIndex(({ steal }) => !steal);
    this.#waiting.splice(at < 0 ? this.#waiting.length : at, 0, request);
  }
}
