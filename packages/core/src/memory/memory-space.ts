import type { FencingToken, Millis } from "../api/values.js";

/** One place in a queue. */
export interface MemoryEntry {
  readonly id: string;
  readonly session: string;
  readonly label: string | null;
  readonly sinceMs: Millis;
  token: FencingToken | null;
  /** Its turn has come: `token` is set. */
  turnCame(): void;
  /** Somebody removed it: not its owner. */
  removed(): void;
  /** Somebody asked the holder to let go. */
  revokeAsked(): void;
}

/** Where memory providers meet: those that share a space share its locks. First come, first served. */
export class MemorySpace {
  readonly #queues = new Map<string, MemoryEntry[]>();
  #lastToken = 0n;
  #lastId = 0;

  nextId(): string {
    return `entry-${++this.#lastId}`;
  }

  queue(name: string): readonly MemoryEntry[] {
    return this.#queues.get(name) ?? [];
  }

  /** Names with a holder. */
  names(): readonly string[] {
    return [...this.#queues.keys()];
  }

  add(name: string, entry: MemoryEntry): void {
    const queue = this.#queues.get(name);
    if (queue === undefined) {
      this.#queues.set(name, [entry]);
      this.#grant(entry);
    } else {
      queue.push(entry);
    }
  }

  /** `false` when it is not there. The next in the queue is granted. */
  remove(name: string, entry: MemoryEntry): boolean {
    const queue = this.#queues.get(name);
    const index = queue?.indexOf(entry) ?? -1;
    if (queue === undefined || index === -1) return false;
    queue.splice(index, 1);
    if (queue.length === 0) this.#queues.delete(name);
    else if (index === 0) this.#grant(queue[0] as MemoryEntry);
    return true;
  }

  /** As when a server ends a session: all of its entries go before anybody is granted. */
  removeSession(session: string): void {
    const heads: MemoryEntry[] = [];
    for (const [name, queue] of [...this.#queues]) {
      const rest = queue.filter((entry) => entry.session !== session);
      if (rest.length === queue.length) continue;
      const [head] = rest;
      if (head === undefined) this.#queues.delete(name);
      else {
        if (head !== queue[0]) heads.push(head);
        this.#queues.set(name, rest);
      }
    }
    for (const head of heads) if (head.token === null) this.#grant(head);
  }

  /** As an operator does who deletes an entry. */
  evict(name: string, entry: MemoryEntry): boolean {
    if (!this.queue(name).includes(entry)) return false;
    // The victim hears first: in one process nobody has to overlap.
    entry.removed();
    return this.remove(name, entry);
  }

  #grant(entry: MemoryEntry): void {
    entry.token = ++this.#lastToken;
    entry.turnCame();
  }
}
