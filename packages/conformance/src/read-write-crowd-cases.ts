import { AcquireTimeoutError, BackendError, type LockHandle, type LockProvider } from "@holdfast/core";
import { seededRandom } from "@holdfast/core/testing";
import { expect } from "vitest";
import type { Case } from "./harness.js";
import { Room, type SidesMaker } from "./read-write-support.js";

const seeds = [1, 48_271, 2_147_483_647];

/** Cases of many clients at once, which act at random. A run can be repeated, because the seed is in the title. */
export function sidesCrowdCases(of: SidesMaker): readonly Case[] {
  return [
    ...seeds.map(
      (seed): Case => [
        `a crowd of readers and writers that also give up: writers alone, readers together (seed ${seed})`,
        async (h) => {
          const name = h.name();
          const providers = await Promise.all(Array.from({ length: 3 }, () => h.provider()));
          const room = new Room();
          const reason = new Error("enough");
          let turns = 0;
          const contend = async (index: number) => {
            const random = seededRandom(seed + index);
            const lock = of(providers[index % 3] as LockProvider, name);
            for (let round = 0; round < 6; round++) {
              const side = random() < 0.3 ? lock.write : lock.read;
              const giveUp = random();
              const controller = new AbortController();
              const asked = side.acquire({
                signal: controller.signal,
                waitMs: giveUp < 0.1 ? 1 + Math.floor(random() * 20) : 60_000,
              });
              if (giveUp > 0.9) {
                void h.pass(random() * 10).then(() => controller.abort(reason));
              }
              let handle: LockHandle;
              try {
                handle = await asked;
              } catch (error) {
                // Such a short limit may pass before the backend has answered.
                const passing = error instanceof AcquireTimeoutError || error instanceof BackendError;
                if (error !== reason) expect([passing, error]).toEqual([true, error]);
                continue;
              }
              room.enter(handle.mode);
              await h.pass(random() * 4);
              room.leave(handle.mode);
              turns++;
              await handle.release();
            }
          };
          await Promise.all(Array.from({ length: 9 }, (_, index) => contend(index)));
          expect(room.violations).toBe(0);
          expect(room.mostReaders).toBeGreaterThan(1);
          expect(turns).toBeGreaterThan(27);
          await h.untilEmpty(of(await h.provider(), name));
        },
      ],
    ),
    ...seeds.map(
      (seed): Case => [
        `a queue drawn by chance is served in its order, each run of readers together (seed ${seed})`,
        async (h) => {
          const random = seededRandom(seed);
          const name = h.name();
          const providers = [await h.provider(), await h.provider()];
          const held = await of(await h.provider(), name).write.acquire();
          const room = new Room();
          const runs: number[] = [];
          const served: number[] = [];
          const all: Promise<void>[] = [];
          let last = "";
          for (let i = 0; i < 10; i++) {
            const mode = random() < 0.4 ? "exclusive" : "shared";
            const run = mode === "shared" && last === "shared" ? (runs[i - 1] ?? 0) : i;
            last = mode;
            runs.push(run);
            const lock = of(providers[i % 2] as LockProvider, name);
            const side = mode === "exclusive" ? lock.write : lock.read;
            const serve = async (handle: LockHandle) => {
              served.push(run);
              room.enter(handle.mode);
              await h.pass(random() * 3);
              room.leave(handle.mode);
              await handle.release();
            };
            all.push(side.acquire().then(serve));
            await h.untilQueued(lock, i + 1);
          }
          await held.release();
          await Promise.all(all);
          expect(room.violations).toBe(0);
          if (h.isFifo(providers[0] as LockProvider)) expect(served).toEqual(runs);
          else expect([...served].sort()).toEqual([...runs].sort());
        },
      ],
    ),
  ];
}
