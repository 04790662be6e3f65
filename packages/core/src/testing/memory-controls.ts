import { InvalidArgumentError } from "../api/errors.js";
import type { LockHandle } from "../api/handle.js";
import type { LockProvider } from "../api/provider.js";
import { Handle } from "../grants/handle.js";
import { memoryParts } from "../memory/memory-locks.js";

/** Makes a memory provider fail in chosen ways. */
export interface MemoryControls {
  /**
   * Removes the entry at `position` of the queue, by default 0. Holders stand in front, so that is the entry of the first
   * holder. `false` when nothing is there.
   */
  steal(name: string, position?: number): boolean;
  /**
   * Removes the entry behind a handle of any provider of the space. `false` when it is gone already. Throws
   * `InvalidArgumentError` for an object that is not a handle of this library.
   */
  stealHold(handle: LockHandle): boolean;
  /** Contact breaks; the session lives on. */
  suspend(): void;
  /** Contact comes back, with a new session if the old one has ended. */
  reconnect(): void;
  /** The session ends at the backend: holds are lost, waiters start again. Contact stays broken until `reconnect()`. */
  expire(): void;
  /** Entries on `name`, holders and waiters of all providers of the space. */
  entries(name: string): number;
}

/** The controls of a provider that `memoryLocks()` has made. Throws `InvalidArgumentError` for any other provider. */
export function memoryControls(provider: LockProvider): MemoryControls {
  const parts = memoryParts.get(provider);
  if (parts === undefined)
    throw new InvalidArgumentError("memoryControls: not a provider made by memoryLocks()");
  const { space, link } = parts;
  return {
    steal(name, position = 0) {
      const entry = space.queue(name)[position];
      return entry !== undefined && space.evict(name, entry);
    },
    stealHold(handle) {
      if (!(handle instanceof Handle)) throw new InvalidArgumentError("stealHold: not a handle of ours");
      const { backendId } = Handle.holdOf(handle).grant;
      const entry = space.queue(handle.name).find(({ id }) => id === backendId);
      return entry !== undefined && space.evict(handle.name, entry);
    },
    suspend: () => link.suspend(),
    reconnect: () => link.reconnect(),
    expire: () => link.expire(),
    entries: (name) => space.queue(name).length,
  };
}
