import type { LayoutConflictError } from "../api/errors.js";
import type { FencingToken, Millis } from "../api/values.js";
import { compatible, conflictOf, type MemoryClaim } from "./memory-claim.js";

/** One place in a queue. */
export interface MemoryEntry extends MemoryClaim {
  readonly id: string;
  readonly session: string;
  readonly label: string | null;
  readonly sinceMs: Millis;
  /** Semaphores: one for each permit. Empty for the others. */
  readonly permitIds: readonly string[];
  /** `null` while it waits. */
  token: FencingToken | null;
  /** Whether its provider may keep it for the next owner. */
  readonly keepable: boolean;
  /** Its turn has come: `token` is set. `before`: the token of the last grant of this lock, where the space remembers it. */
  turnCame(before: FencingToken | null): void;
  /** Another client asks for the lock. */
  wanted(): void;
  /** It was removed, and not by its owner. */
  removed(): void;
  /** A client asked the holder to release the lock. */
  revokeAsked(): void;
}

const mostRemembered = 10_000;

/**
 * The locks of memory providers: providers that share a space share its locks. First come, first served: an entry is granted
 * when it is compatible with all holders and no waiter is in front of it. So all holders stand in front of all waiters.
 */
export class MemorySpace {
  readonly #queues = new Map<string, MemoryEntry[]>();
  readonly #watchers = new Map<string, Set<() => void>>();
  #lastToken = 0n;
  #lastId = 0;
  /** The token of the last grant of each lock, the oldest names forgotten. `null` while no provider of the space keeps locks. */
  #lastGrants: Map<string, FencingToken> | null = null;

  /** Called for a provider of this space that keeps locks. It has to know whether a grant follows its own last one. */
  rememberGrants(): void {
    this.#lastGrants ??= new Map();
  }

  /** A fresh id for an entry of this space. */
  nextId(): string {
    return `entry-${++this.#lastId}`;
  }

  /** The entries of a lock, holders first, then waiters in the order in which they came. */
  queue(name: string): readonly MemoryEntry[] {
    return this.#queues.get(name) ?? [];
  }

  /** Names with an entry: a holder or a waiter. */
  names(): readonly string[] {
    return [...this.#queues.keys()];
  }

  /** Whether the claim would be granted at once. */
  admits(name: string, claim: MemoryClaim): boolean {
    const queue = this.queue(name);
    return queue.every(isHeld) && compatible(claim, queue);
  }

  /** The error for a claim that must not even wait in this queue; `undefined` if it may. */
  conflict(name: string, claim: MemoryClaim): LayoutConflictError | undefined {
    const [present] = this.queue(name);
    return present === undefined ? undefined : conflictOf(name, claim, present);
  }

  /** Puts an entry at the tail, and grants it if it can be granted now. */
  add(name: string, entry: MemoryEntry): void {
    const queue = this.#queues.get(name);
    const head = queue?.[0];
    if (queue === undefined) this.#queues.set(name, [entry]);
    else queue.push(entry);
    head?.wanted();
    this.serve(name);
  }

  /**
   * A client asks once: an entry that its provider keeps while no owner has it is given back. Such an entry stands alone in
   * its queue, or it would not be kept.
   */
  want(name: string): void {
    this.queue(name)[0]?.wanted();
  }

  /**
   * Adds a read beside a write that is held. The read has the write's token, and the write's place once the write is gone.
   * `false` when the write is not there any more.
   */
  addBeside(name: string, write: MemoryEntry, read: MemoryEntry): boolean {
    const queue = this.#queues.get(name);
    const index = queue?.indexOf(write) ?? -1;
    if (queue === undefined || index === -1) return false;
    read.token = write.token;
    this.#lastGrants?.delete(name);
    queue.splice(index + 1, 0, read);
    this.#tell(name);
    return true;
  }

  /** Grants what can be granted after the removal. `false` when the entry is not there. */
  remove(name: string, entry: MemoryEntry): boolean {
    if (!this.drop(name, entry)) return false;
    this.serve(name);
    return true;
  }

  /** Like `remove`, but no waiter is granted before `serve`: all entries of a session go first. */
  drop(name: string, entry: MemoryEntry): boolean {
    const queue = this.#queues.get(name);
    const index = queue?.indexOf(entry) ?? -1;
    if (queue === undefined || index === -1) return false;
    queue.splice(index, 1);
    if (queue.length === 0) this.#queues.delete(name);
    return true;
  }

  /** Grants what can be granted after `drop`, and notifies the watchers of the queue. */
  serve(name: string): void {
    this.#serve(name);
    this.#tell(name);
  }

  /** Removes an entry, as when an operator deletes it. */
  evict(name: string, entry: MemoryEntry): boolean {
    if (!this.queue(name).includes(entry)) return false;
    // The owner of the entry is notified before the next grant: in one process the two holds need not overlap.
    entry.removed();
    return this.remove(name, entry);
  }

  /**
   * Runs `changed` after each change of the queue, once for several changes together, and never synchronously. The
   * returned function ends it.
   */
  watch(name: string, changed: () => void): () => void {
    const watcher = coalesced(changed);
    const watchers = this.#watchers.get(name) ?? new Set();
    this.#watchers.set(name, watchers.add(watcher.run));
    return () => {
      watcher.stop();
      watchers.delete(watcher.run);
      if (watchers.size === 0 && this.#watchers.get(name) === watchers) this.#watchers.delete(name);
    };
  }

  /** Notifies the watchers of the queue, because what an entry shows has changed. */
  touch(name: string): void {
    this.#tell(name);
  }

  /**
   * Grants waiters from the front, as far as possible. Reads the queue again each time, because a granted waiter may
   * change it at once.
   */
  #serve(name: string): void {
    for (;;) {
      const queue = this.queue(name);
      const waiting = queue.findIndex((entry) => !isHeld(entry));
      const next = queue[waiting];
      if (next === undefined || !compatible(next, queue.slice(0, waiting))) return;
      next.token = ++this.#lastToken;
      next.turnCame(this.#granted(name, next.token));
    }
  }

  /** Remembers this grant. Returns the token of the grant before it, where the space remembers that. */
  #granted(name: string, token: FencingToken): FencingToken | null {
    const last = this.#lastGrants;
    if (last === null) return null;
    const before = last.get(name) ?? null;
    last.delete(name);
    last.set(name, token);
    if (last.size > mostRemembered) last.delete(last.keys().next().value as string);
    return before;
  }

  #tell(name: string): void {
    const watchers = this.#watchers.get(name);
    if (watchers !== undefined) for (const run of [...watchers]) run();
  }
}

function isHeld(entry: MemoryEntry): boolean {
  return entry.token !== null;
}

/** Runs `fn` in a microtask, once for all calls that were made until then. */
function coalesced(fn: () => void): { run(): void; stop(): void } {
  let due = false;
  let stopped = false;
  return {
    run() {
      if (due) return;
      due = true;
      queueMicrotask(() => {
        due = false;
        if (!stopped) fn();
      });
    },
    stop() {
      stopped = true;
    },
  };
}
