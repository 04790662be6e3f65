import type {
  Acquirable,
  LockHandle,
  LockMode,
  LockProvider,
  LockView,
  Mutex,
  ReentrantAcquirable,
  ReentrantMutex,
} from "@holdfast/core";
import type { Harness } from "./harness.js";

/** A lock with two sides, re-entrant or not. */
export interface Sides extends LockView {
  readonly read: Acquirable;
  readonly write: Acquirable;
}

export type SidesMaker = (provider: LockProvider, name: string) => Sides;

/** One side of a lock, seen as a mutex. */
export function sideAsMutex(lock: LockView, side: Acquirable): Mutex {
  return {
    name: lock.name,
    acquire: (options) => side.acquire(options),
    tryAcquire: (options) => side.tryAcquire(options),
    withLock: (...args: unknown[]) => side.withLock(...(args as Parameters<Mutex["withLock"]>)) as never,
    tryWithLock: (...args: unknown[]) =>
      side.tryWithLock(...(args as Parameters<Mutex["tryWithLock"]>)) as never,
    inspect: (options) => lock.inspect(options),
    requestRevoke: (options) => lock.requestRevoke(options),
  };
}

export function sideAsReentrantMutex(lock: LockView, side: ReentrantAcquirable): ReentrantMutex {
  return { ...sideAsMutex(lock, side), holdCount: (owner) => side.holdCount(owner) };
}

/** Ends the hold as the backend would. Resolves once the holder has been notified. */
export async function loseHold(h: Harness, handle: LockHandle): Promise<void> {
  const { lost } = handle;
  await h.fixture.loseHold(handle);
  await h.untilAborted("the holder to hear of its loss", lost);
}

export async function releaseAll(handles: readonly LockHandle[]): Promise<void> {
  for (const handle of handles) await handle.release();
}

/**
 * The modes of the holders, as the backend sees them. A wrong grant shows here before any client is notified of it, as long
 * as the backend answers from what it has decided.
 */
export async function heldModes(lock: LockView): Promise<LockMode[]> {
  return (await lock.inspect()).held.map((info) => info.mode);
}

/** Counts the readers and writers inside the lock, and remembers the worst. */
export class Room {
  readers = 0;
  writers = 0;
  mostReaders = 0;
  /** The number of times that a writer was not alone. */
  violations = 0;

  enter(mode: string): void {
    if (mode === "exclusive") this.writers++;
    else this.readers++;
    this.mostReaders = Math.max(this.mostReaders, this.readers);
    if (this.writers > 1 || (this.writers === 1 && this.readers > 0)) this.violations++;
  }

  leave(mode: string): void {
    if (mode === "exclusive") this.writers--;
    else this.readers--;
  }
}
