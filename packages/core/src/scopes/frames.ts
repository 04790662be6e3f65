import type { LockMode } from "../api/values.js";
import type { GrantEngine } from "../grants/engine.js";
import type { Hold } from "../grants/hold.js";
import { currentScope, runInScopeStore } from "../scope-store.js";

/** Called once: with `true` if the caller has the place of the child now, with `false` if there is no place any more. */
type Wake = (hasPlace: boolean) => void;

/**
 * The running body of one `withLock`. Code that the body calls finds this frame through the async context, as long as the
 * frame is active. A task that outlives the body finds no frame, and its calls are not in the scope.
 *
 * A frame has one child at a time. Otherwise siblings that one body starts together (`Promise.all`) would be in the lock
 * at the same time.
 */
export class Frame {
  readonly reentrant: boolean;
  /**
   * `undefined` once the body has ended. Promises that were made in the body keep the frame in memory, and must
   * not keep its hold.
   */
  #hold: Hold | undefined;
  #parent: Frame | undefined;
  #occupied = false;
  readonly #queue = new Set<Wake>();
  /** The outer scope whose one place for a child this frame has taken. */
  #place: Frame | undefined;
  #unwatch: (() => void) | undefined;

  constructor(
    hold: Hold,
    options: { reentrant: boolean; parent: Frame | undefined; place?: Frame | undefined },
  ) {
    this.#hold = hold;
    this.reentrant = options.reentrant;
    this.#parent = nearestActive(options.parent);
    // This read removes ended frames from the chain. Each new frame does it, since bodies that only try look for no scope.
    void this.#parent?.parent;
    this.#place = options.place;
    if (this.#place !== undefined && this.#place.hold !== hold) this.#leaveWithHold();
  }

  /** The hold, until the body has ended. */
  get hold(): Hold {
    return this.#hold as Hold;
  }

  get ended(): boolean {
    return this.#hold === undefined;
  }

  /**
   * The active scope around this one. Frames that ended are removed from the chain. Otherwise tasks that each start the next
   * one would keep all of them in memory.
   */
  get parent(): Frame | undefined {
    let found = this.#parent;
    while (found !== undefined && !found.active) found = found.#parent;
    this.#parent = found;
    return found;
  }

  /**
   * Whether this is still a scope. A body that has released its handle itself is no longer a scope. A lost hold still has its
   * scope, so that calls in it get the error of the loss.
   */
  get active(): boolean {
    return this.#hold?.givenBack === false;
  }

  /** Takes the place of the one child, if it is free. */
  tryOccupy(): boolean {
    if (this.#occupied) return false;
    this.#occupied = true;
    return true;
  }

  /**
   * Passes the place to the next call in the queue, if there is one. When the body has ended or has released its handle,
   * there is no place any more, and all calls in the queue go on.
   */
  vacate(): void {
    const [next] = this.active ? this.#queue : [];
    if (next !== undefined) {
      this.#queue.delete(next);
      return next(true);
    }
    this.#occupied = false;
    if (this.active) return;
    this.leave();
    this.#wakeAll();
  }

  /** Queues for the place of the child. The returned function leaves the queue. */
  queue(wake: Wake): () => void {
    this.#queue.add(wake);
    return () => this.#queue.delete(wake);
  }

  end(): void {
    this.#hold = undefined;
    this.#wakeAll();
  }

  /**
   * Gives back the place of this frame in the scope around it, if it still has that place. While a child is in this frame,
   * the place stays taken, and is given back when that child leaves: the body may have ended without waiting for it.
   */
  leave(): void {
    if (this.#occupied) return;
    const place = this.#place;
    this.#place = undefined;
    this.#unwatch?.();
    this.#unwatch = undefined;
    place?.vacate();
  }

  /**
   * Gives back the place in the outer scope once the body has given back its own hold. From then on the body is in the outer
   * scope like any other code, and may ask for the lock again. If it kept the place, it would wait for itself.
   */
  #leaveWithHold(): void {
    if (this.active) this.#unwatch = this.hold.watch(() => this.#leaveWithHold());
    else this.leave();
  }

  #wakeAll(): void {
    const left = [...this.#queue];
    this.#queue.clear();
    for (const wake of left) wake(false);
  }
}

export function runInFrame<T>(frame: Frame, body: () => T): T {
  return runInScopeStore(frame, body);
}

export function currentFrame(): Frame | undefined {
  return nearestActive(currentScope() as Frame | undefined);
}

/** The innermost running scope on this lock of this provider, or on this side of it. */
export function frameOf(engine: GrantEngine, name: string, mode?: LockMode): Frame | undefined {
  for (let frame = currentFrame(); frame !== undefined; frame = frame.parent) {
    const { hold } = frame;
    if (hold.engine !== engine || hold.name !== name) continue;
    if (mode === undefined || hold.mode === mode) return frame;
  }
  return undefined;
}

function nearestActive(frame: Frame | undefined): Frame | undefined {
  return frame === undefined || frame.active ? frame : frame.parent;
}
