import type { MemorySpace } from "../memory-space.js";

const boards = new WeakMap<MemorySpace, MemoryBoard>();
const noMembers: ReadonlySet<object> = new Set();

/** The entries of one double barrier. */
export interface MemoryRound {
  readonly members: Set<object>;
  /** Whether all members were there at one moment. Some of them still are. */
  ready: boolean;
}

/** What the providers of one memory space share besides the queues of their locks. */
export class MemoryBoard {
  readonly counts: Map<string, number> = new Map();
  readonly shut: Set<string> = new Set();
  readonly records: Map<string, string> = new Map();
  readonly rounds: Map<string, MemoryRound> = new Map();
  readonly #listeners = new Map<string, Set<() => void>>();

  static of(space: MemorySpace): MemoryBoard {
    let board = boards.get(space);
    if (board === undefined) {
      board = new MemoryBoard();
      boards.set(space, board);
    }
    return board;
  }

  /** The round for a member that enters; the first member makes it. */
  round(name: string): MemoryRound {
    let round = this.rounds.get(name);
    if (round === undefined) {
      round = { members: new Set(), ready: false };
      this.rounds.set(name, round);
    }
    return round;
  }

  membersOf(name: string): ReadonlySet<object> {
    return this.rounds.get(name)?.members ?? noMembers;
  }

  /** Removes a member from the round. The last member ends the round. */
  leaveRound(name: string, member: object): void {
    const members = this.rounds.get(name)?.members;
    members?.delete(member);
    if (members?.size === 0) this.rounds.delete(name);
  }

  /** `topic`: kind and name. */
  subscribe(topic: string, changed: () => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners);
    // A new function for each call: one function may subscribe twice, and each subscription ends on its own.
    const listener = (): void => changed();
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(topic) === listeners) this.#listeners.delete(topic);
    };
  }

  changed(topic: string): void {
    for (const listener of [...(this.#listeners.get(topic) ?? [])]) listener();
  }
}
