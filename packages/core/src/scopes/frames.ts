import type { LockMode } from "../api/values.js";
import type { GrantEngine } from "../grants/engine.js";
import type { Hold } from "../grants/hold.js";
import { currentScope, runInScopeStore } from "../scope-store.js";

/**
 * The running body of one `withLock`. Code called from it finds it through the async context, as long as it is active;
 * a task that outlives the body finds nothing and is a stranger.
 *
 * One child at a time: siblings started together by one body (`Promise.all`) would otherwise be in the lock at once.
 */
export class Frame {
  readonly reentrant: boolean;
  /** `undefined` once the body has ended: promises made in it keep the frame, and must not keep what it held. */
  #hold: Hold | undefined;
  #parent: Frame | undefined;
  #occupied = false;
  readonly #queue = new Set<() => void>();
  /** The scope around it whose one place it has. */
  #place: Frame | undefined;
  #unwatch: (() => void) | undefined;

  constructor(
    hold: Hold,
    options: { reentrant: boolean; parent: Frame | undefined; place?: Frame | undefined },
  ) {
    this.#hold = hold;
    this.reentrant = options.reentrant;
    this.#parent = nearestActive(options.parent);
    // Each new frame shortens the chain behind it, since bodies that only try look for no scope.
    void this.#parent?.parent;
    this.#place = options.place;
    if (this.#place !== undefined && this.#place.hold !== hold) this.#leaveWithHold();
  }

  /** Of an active frame. */
  get hold(): Hold {
    return this.#hold as Hold;
  }

  /** The active scope around it. Frames that ended leave the chain, or tasks that each start the next would keep all of them. */
  get parent(): Frame | undefined {
    let found = this.#parent;
    while (found !== undefined && !found.active) found = found.#parent;
    this.#parent = found;
    return found;
  }

  /** A body that has released its handle itself is no longer a scope. A lost hold still has its scope, and its error. */
  get active(): boolean {
    return this.#hold?.givenBack === false;
  }

  /** The place of the one child. */
  tryOccupy(): boolean {
    if (this.#occupied) return false;
    this.#occupied = true;
    return true;
  }

  /** Hands the place to the next in the queue, if there is one. Where the body has released its handle there is no place any more: all go on. */
  vacate(): void {
    if (!this.active) {
      this.leave();
      return this.#wakeAll();
    }
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
    this.#hold = undefined;
    this.#wakeAll();
  }

  /** Gives back its place in the scope around it, if it still has that. */
  leave(): void {
    const place = this.#place;
    this.#place = undefined;
    this.#unwatch?.();
    this.#unwatch = undefined;
    place?.vacate();
  }

  /**
   * A body that has given back a hold of its own is in the scope around it like any other, and may ask for the lock again: with the place
   * that it had there it would wait for itself. A child that is still in it leaves for both.
   */
  #leaveWithHold(): void {
    if (this.active) this.#unwatch = this.hold.watch(() => this.#leaveWithHold());
    else if (!this.#occupied) this.leave();
  }

  #wakeAll(): void {
    const left = [...this.#queue];
    this.#queue.clear();
    for (const wake of left) wake();
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
