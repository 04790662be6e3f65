import type { LockHandle, ReadWriteLock } from "@holdfast/core";
import type { Asked } from "./arguments.js";

/** A request that waits, or holds. `granted` and `failed` are called once, one of them. */
export interface Request extends Asked {
  granted(handle: LockHandle | null): void;
  failed(error: unknown): void;
}

/** Why an ask is called back that shall be asked again, behind a request that steals. */
const putBack = new Error("another request goes first");

/**
 * The requests of one manager for one name, in their order: one of them at a time is asked of the provider, whatever order its backend
 * serves waiters in. The next is asked when that one is granted: readers follow each other at once, and of writers one waits there.
 */
export class RequestQueue {
  readonly #lock: ReadWriteLock;
  readonly #waiting: Request[] = [];
  #asked: { readonly request: Request; readonly callBack: AbortController } | null = null;

  constructor(lock: ReadWriteLock) {
    this.#lock = lock;
  }

  get pending(): readonly Request[] {
    return this.#asked === null ? this.#waiting : [this.#asked.request, ...this.#waiting];
  }

  add(request: Request): void {
    // As in the standard: not grantable behind one that waits.
    if (request.ifAvailable && this.pending.length > 0) return request.granted(null);
    if (request.steal) {
      this.#waiting.unshift(request);
      this.#asked?.callBack.abort(putBack);
    } else this.#waiting.push(request);
    request.signal?.addEventListener("abort", () => this.#giveUp(request), { once: true });
    this.#askNext();
  }

  #giveUp(request: Request): void {
    const reason: unknown = request.signal?.reason;
    if (this.#asked?.request === request) return this.#asked.callBack.abort(reason);
    const at = this.#waiting.indexOf(request);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    request.failed(reason);
  }

  #askNext(): void {
    if (this.#asked !== null) return;
    const request = this.#waiting.shift();
    if (request === undefined) return;
    const callBack = new AbortController();
    this.#asked = { request, callBack };
    void this.#ask(request, callBack.signal);
  }

  async #ask(request: Request, signal: AbortSignal): Promise<void> {
    const side = request.mode === "shared" ? this.#lock.read : this.#lock.write;
    const options = { revocable: true, signal };
    try {
      const handle = request.ifAvailable ? await side.tryAcquire(options) : await side.acquire(options);
      if (signal.aborted) {
        await handle?.[Symbol.asyncDispose]();
        throw signal.reason;
      }
      this.#asked = null;
      request.granted(handle);
    } catch (error) {
      this.#asked = null;
      // Behind the request that steals, before all others.
      if (error === putBack) this.#waiting.splice(1, 0, request);
      else request.failed(error);
    }
    this.#askNext();
  }
}
