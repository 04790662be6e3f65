import type { ProviderClosedError } from "../../api/errors.js";
import type { LossReason } from "../../api/values.js";
import type { GrantEngine, Waiting } from "../../grants/engine.js";
import { awaitValue } from "../../rendezvous/await-value.js";
import type { BarrierEntry } from "../../rendezvous/barrier-membership.js";
import type { DoubleBarrierStore } from "../../rendezvous/double-barrier.js";
import type { WaitBounds } from "../../rendezvous/wait-bounds.js";
import type { MemoryBoard } from "./memory-board.js";

export class MemoryDoubleBarrier implements DoubleBarrierStore {
  readonly #engine: GrantEngine;
  readonly #board: MemoryBoard;
  readonly #name: string;

  constructor(engine: GrantEngine, board: MemoryBoard, name: string) {
    this.#engine = engine;
    this.#board = board;
    this.#name = name;
  }

  async enter(parties: number, bounds: WaitBounds): Promise<BarrierEntry> {
    const entry = new MemoryBarrierEntry(this.#engine, this.#board, this.#name, parties);
    try {
      await awaitValue(this.#engine, bounds, entry, (full) => full);
    } catch (error) {
      entry.rise();
      throw error;
    }
    entry.passed();
    return entry;
  }
}

/**
 * A member, from the moment at which it asks. It loses its entry with its session, and makes the entry again only while it
 * has not passed the barrier.
 */
class MemoryBarrierEntry implements BarrierEntry, Waiting {
  lost: LossReason | null = null;
  readonly #engine: GrantEngine;
  readonly #board: MemoryBoard;
  readonly #name: string;
  readonly #parties: number;
  #phase: "entering" | "in" | "over" = "entering";
  /** The members that `leave()` waits for: those that were there when it began. */
  #others: readonly object[] = [];
  #listener: (reason: LossReason) => void = () => {};
  readonly #stopListening: Disposable;

  constructor(engine: GrantEngine, board: MemoryBoard, name: string, parties: number) {
    this.#engine = engine;
    this.#board = board;
    this.#name = name;
    this.#parties = parties;
    engine.waiting.add(this);
    this.#stopListening = engine.events.on("session-state", ({ state }) => {
      if (state === "lost") this.#sessionLost();
    });
  }

  subscribe(changed: () => void): () => void {
    return this.#board.subscribe(this.#topic, changed);
  }

  /** Makes our entry, and reads whether the barrier is full. */
  async read(): Promise<boolean> {
    if (this.#engine.link.state !== "connected") await this.#engine.contactRegained();
    if (this.#phase !== "entering") return false;
    const round = this.#board.round(this.#name);
    round.members.add(this);
    if (!round.ready && round.members.size >= this.#parties) {
      round.ready = true;
      this.#board.changed(this.#topic);
    }
    return round.ready;
  }

  passed(): void {
    // The session may have ended between the last read and now.
    if (this.#phase === "entering") this.#phase = "in";
    if (!this.#board.membersOf(this.#name).has(this)) this.#lose("session-expired");
  }

  onLost(listener: (reason: LossReason) => void): void {
    this.#listener = listener;
    if (this.lost !== null) listener(this.lost);
  }

  watch(): void {}

  async leave(bounds: WaitBounds): Promise<void> {
    if (this.#phase === "in") {
      if (this.#engine.link.state !== "connected") await this.#engine.contactRegained();
      this.#others = [...this.#board.membersOf(this.#name)];
      this.rise();
    }
    const remaining = {
      subscribe: (changed: () => void) => this.subscribe(changed),
      read: async () => {
        const members = this.#board.membersOf(this.#name);
        return this.#others.filter((each) => members.has(each)).length;
      },
    };
    await awaitValue(this.#engine, bounds, remaining, (count) => count === 0);
  }

  async giveUp(): Promise<void> {
    this.rise();
  }

  providerClosed(_error: ProviderClosedError): void {
    if (this.#phase === "in") this.#lose("provider-closed");
    else this.rise();
  }

  rise(): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    this.#engine.waiting.delete(this);
    this.#stopListening[Symbol.dispose]();
    this.#vacate();
  }

  get #topic(): string {
    return `double-barrier ${this.#name}`;
  }

  #sessionLost(): void {
    if (this.#phase === "in") this.#lose("session-expired");
    else this.#vacate();
  }

  #lose(reason: LossReason): void {
    if (this.lost !== null) return;
    this.lost = reason;
    this.rise();
    this.#listener(reason);
  }

  /**
   * Removes our entry and notifies all watchers, also our own. While this member is entering, its next read makes the entry
   * again once contact is back.
   */
  #vacate(): void {
    this.#board.leaveRound(this.#name, this);
    this.#board.changed(this.#topic);
  }
}
