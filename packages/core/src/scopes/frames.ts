import { AsyncLocalStorage } from "node:async_hooks";
import type { LockMode } from "../api/values.js";
import type { GrantEngine } from "../grants/engine.js";
import type { Hold } from "../grants/hold.js";

/**
 * The running body of one `withLock`. Code called from it finds it through the async context, as long as it is active;
 * a task that outlives the body finds nothing and is a stranger.
 *
 * One child at a time: siblings started together by one body (`Promise.all`) would otherwise be in the lock at once.
 */
export class Frame {
  readonly hold: Hold;
  readonly reentrant: boolean;
  readonly parent: Frame | undefined;
  #active = true;
  #occupied = false;
  readonly #queue = new Set<() => void>();

  constructor(hold: Hold, options: { reentrant: boolean; parent: Frame | undefined }) {
    this.hold = hold;
    this.reentrant = options.reentrant;
    // Frames that ended are left out, or a long chain of detached tasks would keep all of them.
    this.parent = nearestActive(options.parent);
  }

  /** A body that has released its handle itself is no longer a scope. A lost hold still has its scope, and its error. */
  get active(): boolean {
    return this.#active && !this.hold.givenBack;
  }

  /** The place of the one child. */
  tryOccupy(): boolean {
    if (this.#occupied) return false;
    this.#occupied = true;
    return true;
  }

  /** Hands the place to the next in the queue, if there is one. */
  vacate(): void {
    for (const wake of this.#queue) {
      this.#queue.delete(wake);
      wake();
      return;
    }
    this.#occupied = false;
  }

  /** `wake` runs once: with the place, if the frame is still active then; without it when the frame has ended. */
  queue(wake: () => void): () => void {
    this.#queue.add(wake);
    return () => this.#queue.delete(wake);
  }

  end(): void {
    this.#active = false;
    const left = [...this.#queue];
    this.#queue.clear();
    for (const wake of left) wake();
  }
}

let store: AsyncLocalStorage<Frame | undefined> | undefined;

/** From here on each await in the process is dearer, so this happens only on request. */
export function createScopeStore(): void {
  store ??= new AsyncLocalStorage();
}

export function scopesTracked(): boolean {
  return store !== undefined;
}

export function runInFrame<T>(frame: Frame, body: () => T): T {
  return store === undefined ? body() : store.run(frame, body);
}

/**
 * Runs `fn` in no caller's scope. Node.js runs listeners, and timers, in the async context of the code that caused or set
 * them. That may be the body of another task: a listener would be taken for a part of it, and enter its lock beside it. So
 * whatever is run for others than the present caller goes through here. Free as long as no scope store exists.
 */
export function outsideScopes<T>(fn: () => T): T {
  if (store === undefined || store.getStore() === undefined) return fn();
  return store.run(undefined, fn);
}

export function currentFrame(): Frame | undefined {
  return nearestActive(store?.getStore());
}

/** The innermost running scope on this lock of this provider, or on this side of it. */
export function frameOf(engine: GrantEngine, name: string, mode?: LockMode): Frame | undefined {
  for (let frame = currentFrame(); frame !== undefined; frame = nearestActive(frame.parent)) {
    const { hold } = frame;
    if (hold.engine !== engine || hold.name !== name) continue;
    if (mode === undefined || hold.mode === mode) return frame;
  }
  return undefined;
}

function nearestActive(frame: Frame | undefined): Frame | undefined {
  let found = frame;
  while (found !== undefined && !found.active) found = found.parent;
  return found;
}
