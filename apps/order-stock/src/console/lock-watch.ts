import { setTimeout as sleep } from "node:timers/promises";
import type { LockSnapshot, LockView } from "@holdfast/core";
import type { ShopClient } from "../shop/client.js";
import { drawLock } from "./lock-picture.js";
import type { Screen } from "./screen.js";

const everyMs = 200;

/** As many as fit on a screen; the rest of a queue is shown as a number. */
const maxPending = 8;

interface Wait {
  readonly condition: (snapshot: LockSnapshot) => boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export interface LockWatchOptions {
  readonly lock: LockView;
  readonly shop: ShopClient;
  readonly screen: Screen;
  /** Ends the watch, and with it every wait for a picture. */
  readonly signal: AbortSignal;
}

/** Keeps holder, queue and stock on the screen, five times a second, until it is ended. */
export class LockWatch {
  readonly #lock: LockView;
  readonly #shop: ShopClient;
  readonly #screen: Screen;
  readonly #ending = new AbortController();
  readonly #signal: AbortSignal;
  readonly #waits = new Set<Wait>();
  readonly #notes = new Map<string, string>();
  readonly #watching: Promise<void>;
  /** Why the lock could not be read the last time; `null` if it could. */
  #blindness: Error | null = null;

  constructor({ lock, shop, screen, signal }: LockWatchOptions) {
    this.#lock = lock;
    this.#shop = shop;
    this.#screen = screen;
    this.#signal = AbortSignal.any([signal, this.#ending.signal]);
    this.#watching = this.#watch();
  }

  /** Sets what is shown after a name, such as "stopped"; an empty text removes it. */
  note(name: string, text: string): void {
    this.#notes.set(name, text);
  }

  /** Resolves at the first picture that fulfils the condition. Rejects if there is none in time. */
  async until(what: string, withinMs: number, condition: Wait["condition"]): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#signal.throwIfAborted();
        this.#waits.add({ condition, resolve, reject });
        timer = setTimeout(() => {
          reject(
            new Error(`${what}: not seen within ${withinMs} ms`, { cause: this.#blindness ?? undefined }),
          );
        }, withinMs);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  async end(): Promise<void> {
    this.#ending.abort(new Error("no longer watching"));
    await this.#watching;
    this.#screen.clear();
  }

  async #watch(): Promise<void> {
    const signal = this.#signal;
    while (!signal.aborted) {
      // Whether an act keeps its promises does not depend on this display. So a failure here is shown, and tried again.
      await this.#look().catch((error: Error) => {
        this.#blindness = error;
        if (signal.aborted) return;
        const text = `  the lock cannot be seen: ${error.message.split("\n")[0]}`;
        this.#screen.show({ rows: [text], line: text });
      });
      await sleep(everyMs, undefined, { signal }).catch(() => {}); // rejects only because of the signal
    }
    for (const wait of this.#waits) wait.reject(signal.reason);
    this.#waits.clear();
  }

  async #look(): Promise<void> {
    const [snapshot, stock] = await Promise.all([
      this.#lock.inspect({ maxPending, signal: this.#signal }),
      this.#shop.look(),
    ]);
    this.#blindness = null;
    if (this.#signal.aborted) return;
    this.#screen.show(drawLock(snapshot, stock, this.#notes));
    for (const wait of this.#waits) {
      if (!wait.condition(snapshot)) continue;
      this.#waits.delete(wait);
      wait.resolve();
    }
  }
}
