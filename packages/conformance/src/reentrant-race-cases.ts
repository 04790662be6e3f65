import type { LockHandle } from "@holdfast/core";
import { expect } from "vitest";
import type { Case, Harness } from "./harness.js";
import type { ReentrantMaker } from "./reentrant-cases.js";

/** The number of microtasks between the two calls of a race: from none to more than either call takes to act. */
const gaps = [0, 1, 2, 3, 5];

/** Counts the bodies that are inside at the same time. */
class Inside {
  most = 0;
  #now = 0;
  readonly #h: Harness;

  constructor(h: Harness) {
    this.#h = h;
  }

  readonly body = async (lock: LockHandle): Promise<void> => {
    this.most = Math.max(this.most, ++this.#now);
    expect(lock.state).toBe("held");
    await this.#h.pass(2);
    expect(lock.state).toBe("held");
    this.#now--;
  };
}

/** Cases of re-entry that races the release of the hold: it joins the hold before the release, or asks for a new one. */
export const reentrantRaceCases = (of: ReentrantMaker): readonly Case[] => [
  [
    "re-entry that races the last release gives a handle that holds, and each grant is released once",
    async (h) => {
      const name = h.name();
      const provider = await h.provider();
      const lock = of(provider, name);
      const settled = h.record(provider, "acquire-settled", name);
      const released = h.record(provider, "released", name);
      for (const gap of gaps) {
        for (const releaseFirst of [false, true]) {
          const owner = { id: `racer-${gap}-${releaseFirst}` };
          const first = await lock.acquire({ owner });
          let release = releaseFirst ? first.release() : undefined;
          for (let left = releaseFirst ? gap : 0; left > 0; left--) await undefined;
          const acquiring = lock.acquire({ owner });
          for (let left = releaseFirst ? 0 : gap; left > 0; left--) await undefined;
          release ??= first.release();
          const again = await acquiring;
          again.assertHeld();
          expect(again.state).toBe("held");
          expect(lock.holdCount(owner)).toBe(1);
          await again.confirm();
          expect(await again.release()).toBe("released");
          expect(["released", "still-held"]).toContain(await release);
        }
      }
      const granted = settled.filter(({ outcome }) => outcome === "granted");
      expect(released.map(({ outcome }) => outcome)).toEqual(granted.map(() => "released"));
      await h.untilEmpty(lock);
    },
  ],
  [
    "a withLock that enters again while the last handle is released runs alone",
    async (h) => {
      for (const gap of gaps) {
        const name = h.name();
        const lock = of(await h.provider(), name);
        const inside = new Inside(h);
        const owner = { id: "racer" };
        const first = await lock.acquire({ owner });
        const stranger = h.lockOf(await h.provider(), name).withLock(inside.body);
        await h.untilQueued(lock, 1);
        const again = lock.withLock({ owner }, inside.body);
        for (let left = gap; left > 0; left--) await undefined;
        await first.release();
        await Promise.all([again, stranger]);
        expect(inside.most, `${gap} microtasks before the release`).toBe(1);
        await h.untilEmpty(lock);
      }
    },
  ],
  [
    "a nested withLock whose outer body releases its handle meanwhile runs alone",
    async (h) => {
      for (const gap of gaps) {
        const name = h.name();
        const lock = of(await h.provider(), name);
        const inside = new Inside(h);
        const other = h.lockOf(await h.provider(), name);
        let stranger: Promise<void> | undefined;
        await lock.withLock(async (outer) => {
          stranger = other.withLock(inside.body);
          await h.untilQueued(lock, 1);
          const nested = lock.withLock(inside.body);
          for (let left = gap; left > 0; left--) await undefined;
          await outer.release();
          await nested;
        });
        await stranger;
        expect(inside.most, `${gap} microtasks before the release`).toBe(1);
        await h.untilEmpty(lock);
      }
    },
  ],
];
