import type { GrantEngine } from "../../grants/engine.js";
import type { BarrierStore } from "../../rendezvous/barrier.js";
import type { MemoryBoard } from "./memory-board.js";

export class MemoryBarrier implements BarrierStore {
  readonly #engine: GrantEngine;
  readonly #board: MemoryBoard;
  readonly #name: string;

  constructor(engine: GrantEngine, board: MemoryBoard, name: string) {
    this.#engine = engine;
    this.#board = board;
    this.#name = name;
  }

  async shut(): Promise<void> {
    if (this.#engine.link.state !== "connected") await this.#engine.contact();
    this.#board.shut.add(this.#name);
  }

  async open(): Promise<void> {
    if (this.#engine.link.state !== "connected") await this.#engine.contact();
    if (this.#board.shut.delete(this.#name)) this.#board.changed(this.#topic);
  }

  subscribe(changed: () => void): () => void {
    return this.#board.subscribe(this.#topic, changed);
  }

  async read(): Promise<boolean> {
    if (this.#engine.link.state !== "connected") await this.#engine.contactRegained();
    return this.#board.shut.has(this.#name);
  }

  get #topic(): string {
    return `barrier ${this.#name}`;
  }
}
