import type { ReentrantMutex } from "@holdfast/core";
import { expect } from "vitest";
import { type Case, rejection } from "./harness.js";
import type { ReentrantMaker } from "./reentrant-cases.js";

/**
 * A listener that knows nothing of the lock. It checks whether it is inside the lock, and asks for the lock. As a stranger
 * it is not inside, and gets the lock when the body that holds it has ended.
 */
class Stranger {
  readonly order: string[] = [];
  readonly depths: number[] = [];
  readonly #lock: ReentrantMutex;
  #entered: Promise<void> | undefined;

  constructor(lock: ReentrantMutex) {
    this.#lock = lock;
  }

  readonly hear = (): void => {
    this.depths.push(this.#lock.holdCount());
    this.#entered ??= this.#lock.withLock(() => void this.order.push("listener"));
  };

  /** Expects that the listener was called `times` times, each time outside the lock, and got the lock after the body. */
  async expectOutside(times: number): Promise<void> {
    await this.#entered;
    expect(this.depths).toEqual(Array.from({ length: times }, () => 0));
    expect(this.order).toEqual(["body", "listener"]);
  }
}

/**
 * Cases of listeners, which run when something happens in the provider: often during the calls, timers and answers of other
 * code.
 */
export const listenerCases = (of: ReentrantMaker): readonly Case[] => [
  [
    "a listener of an event that a body causes is not in the scope of that body",
    async (h) => {
      const [name, otherName] = [h.name(), h.name()];
      const provider = await h.provider();
      const lock = of(provider, name);
      const stranger = new Stranger(lock);
      for (const type of ["acquire-started", "acquire-settled", "released"] as const) {
        provider.events.on(type, (event) => event.name === otherName && stranger.hear());
      }
      await lock.withLock(async () => {
        const other = await of(provider, otherName).acquire();
        await other.release();
        expect(lock.holdCount()).toBe(1);
        stranger.order.push("body");
      });
      await stranger.expectOutside(3);
      await h.untilEmpty(lock);
    },
  ],
  [
    "a listener of a time-out is not in the scope of a body that set an earlier deadline",
    async (h) => {
      const [name, takenName] = [h.name(), h.name()];
      const taken = await h.lockOf(await h.provider(), takenName).acquire();
      const provider = await h.provider();
      const lock = of(provider, name);
      const stranger = new Stranger(lock);
      provider.events.on("acquire-settled", (event) => event.name === takenName && stranger.hear());
      const late = rejection(of(provider, takenName).acquire({ waitMs: 60 }));
      await lock.withLock(async () => {
        const early = rejection(of(provider, takenName).acquire({ waitMs: 20 }));
        // Both acquires end by their deadlines. Against a slow server they may end so because no answer came.
        await Promise.all([early, late]);
        stranger.order.push("body");
      });
      await stranger.expectOutside(2);
      await taken.release();
      await h.untilEmpty(lock);
    },
  ],
  [
    "a listener of a loss is not in the scope of a body that runs meanwhile",
    async (h) => {
      const [name, otherName] = [h.name(), h.name()];
      const losing = await h.provider();
      const lock = of(await h.provider(), name);
      const stranger = new Stranger(lock);
      const other = await of(losing, otherName).acquire();
      losing.events.on("lost", stranger.hear);
      other.lost.addEventListener("abort", stranger.hear);
      await lock.withLock(async () => {
        await h.fixture.loseHold(other);
        await h.until("both listeners to be called", () => stranger.depths.length === 2);
        stranger.order.push("body");
      });
      await stranger.expectOutside(2);
      await h.untilEmpty(lock);
    },
  ],
];
