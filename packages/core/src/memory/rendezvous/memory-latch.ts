import type { GrantEngine } from "../../grants/engine.js";
import type { LatchStore } from "../../rendezvous/count-down-latch.js";
import type { MemoryBoard } from "./memory-board.js";

export class MemoryLatch implements LatchStore {
  readonly #engine: GrantEngine;
  readonly #board: MemoryBoard;
  readonly #name: string;

  constructor(engine: GrantEngine, board: MemoryBoard, name: string) {
    this.#engine = engine;
    this.#board = board;
    this.#name = name;
  }

  async trySetCount(count: number): Promise<boolean> {
    if (this.#engine.link.state !== "connected") await this.#engine.contact();
    if (this.#count > 0) return false;
    this.#become(count);
    return true;
  }

  async countDown(by: number): Promise<number> {
    if (this.#engine.link.state !== "connected") await this.#engine.contact();
    if (this.#count > 0) this.#become(Math.max(0, this.#count - by));
    return this.#count;
  }

  async count(): Promise<number> {
    if (this.#engine.link.state !== "connected") await this.#engine.contact();
    return this.#count;
  }

  subscribe(changed: () => void): () => void {
    return this.#board.subscribe(this.#topic, changed);
  }

  async read(): Promise<number> {
    if (this.#engine.link.state !== "connected") await this.#engine.contactRegained();
    return this.#count;
  }

  get #topic(): string {
    return `latch ${this.#name}`;
  }

  get #count(): number {
    return this.#board.counts.get(this.#name) ?? 0;
  }

  #become(count: number): void {
    if (count === 0) this.#board.counts.delete(this.#name);
    else this.#board.counts.set(this.#name, count);
    this.#board.changed(this.#topic);
  }
}
