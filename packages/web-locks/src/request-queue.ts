import type { LockHandle, ReadWriteLock } from "@holdfast/core";
import type { Asked } from "./arguments.js";

/** A request that waits, or holds. `granted` and `failed` are called once, one of them. */
export interface Request extends Asked {
  granted(handle: LockHandle | null): void;
  failed(error: unknown): void;
}

/** Why a request is called back that shall be asked again, behind one that steals. */
const putBack = new Error("another request goes first");

/** The request that is asked of the provider. */
interface Current {
  readonly request: Request;
  readonly callBack: AbortController;
  /** It was withdrawn meanwhile, for this reason, and is not put back. */
  withdrawn?: { readonly reason: unknown };
}

/**
 * The requests of one manager for one name, in their order: one of them at a time is asked of the provider, whatever order its backend
 * serves waiters in. The next is asked when that one is granted: readers follow each other at once, and of writers one waits there.
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
    // As the standard says, the request is not grantable behind one that waits. One with `ifAvailable` does not wait: behind it the backend
    // is asked whether both may hold.
    if (request.ifAvailable && this.pending.some(({ ifAvailable }) => !ifAvailable))
      return request.granted(null);
    if (request.steal) {
      this.#waiting.unshift(request);
      this.#current?.callBack.abort(putBack);
    } else this.#waiting.push(request);
    this.#askNext();
  }

  /** Ends the wait of a request, which fails with the reason. Without an effect once it was granted. */
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

  /** Puts the request back behind those that steal and before all others. */
  #putBack(request: Request): void {
    const at = this.#waiting.findIndex(({ steal }) => !steal);
    this.#waiting.splice(at < 0 ? this.#waiting.length : at, 0, request);
  }
}
