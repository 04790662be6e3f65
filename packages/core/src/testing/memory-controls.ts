import { InvalidArgumentError } from "../api/errors.js";
import type { LockProvider } from "../api/provider.js";
import { memoryParts } from "../memory/memory-locks.js";

/** What can go wrong with a memory provider, on demand. */
export interface MemoryControls {
  /** Removes the holder's entry, or the queue entry at `position` (1 is the first waiter). `false` when nothing is there. */
  steal(name: string, position?: number): boolean;
  /** Contact breaks; the session lives on. */
  suspend(): void;
  /** Contact comes back, with a new session if the old one has ended. */
  reconnect(): void;
  /** The session ends at the backend: holds are lost, waiters start again. Contact stays broken until `reconnect()`. */
  expire(): void;
  /** Entries on `name`, holders and waiters of all providers of the space. */
  entries(name: string): number;
}

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
    suspend: () => link.suspend(),
    reconnect: () => link.reconnect(),
    expire: () => link.expire(),
    entries: (name) => space.queue(name).length,
  };
}
