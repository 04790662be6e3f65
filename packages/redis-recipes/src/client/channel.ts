import { stackOf } from "@holdfast/core/internal";

/** A channel that has listeners in this process; it also knows whether the server has the subscription. */
export class Channel {
  readonly name: string;
  /** Whether the channel is sharded. `null` while it is not known whether the servers support sharded channels. */
  readonly sharded: () => boolean | null;
  readonly listeners: Set<(message: string) => void> = new Set();
  #live = false;
  #before = false;
  #ready: Promise<void> = Promise.resolve();
  #resolve: () => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(name: string, sharded: () => boolean | null) {
    this.name = name;
    this.sharded = sharded;
    this.#await();
  }

  get live(): boolean {
    return this.#live;
  }

  get ready(): Promise<void> {
    return this.#ready;
  }

  /** Marks the channel as subscribed. Returns whether it was subscribed before, so that messages may have been missed. */
  subscribed(): boolean {
    const again = this.#before;
    this.#live = true;
    this.#before = true;
    this.#resolve();
    return again;
  }

  lost(): void {
    if (!this.#live) return;
    this.#live = false;
    this.#await();
  }

  closed(error: Error): void {
    this.lost();
    this.#reject(error);
    this.listeners.clear();
  }

  hear(message: string): void {
    for (const listener of [...this.listeners]) {
      try {
        listener(message);
      } catch (error) {
        process.emitWarning(`a listener of the channel ${this.name} threw: ${stackOf(error)}`, {
          type: "HoldfastWarning",
        });
      }
    }
  }

  #await(): void {
    this.#ready = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A rejection that no caller handles must not become an unhandled one.
    this.#ready.catch(() => {});
  }
}
