import {
  AcquireTimeoutError,
  BackendError,
  type LockProvider,
  type PermitHandle,
  type Semaphore,
} from "@holdfast/core";
import { seededRandom } from "@holdfast/core/testing";
import { expect } from "vitest";
import type { Case, Harness } from "./harness.js";
import { untilAvailable } from "./semaphore-support.js";

const limit = 3;
const clients = 12;
const rounds = 5;

interface Tally {
  inside: number;
  most: number;
  grants: number;
  misses: number;
}

/** Asks for permits in a way that is chosen at random; `null` when they were not granted. */
async function ask(semaphore: Semaphore, random: () => number): Promise<PermitHandle | null> {
  const permits = 1 + Math.floor(random() * limit);
  const way = random();
  if (way < 0.4) return await semaphore.acquire({ permits });
  if (way < 0.6) return await semaphore.tryAcquire({ permits });
  if (way < 0.8) {
    return await semaphore.tryAcquire({ permits, waitMs: random() * 30 }).catch((error: unknown) => {
      // Such a short limit may pass before the backend has answered.
      if (error instanceof BackendError) return null;
      throw error;
    });
  }
  const reason = new Error("by chance");
  const controller = new AbortController();
  const asked = semaphore.acquire({ permits, signal: controller.signal, waitMs: 10_000 });
  setImmediate(() => controller.abort(reason));
  try {
    return await asked;
  } catch (error) {
    if (error === reason || error instanceof AcquireTimeoutError) return null;
    throw error;
  }
}

async function contend(h: Harness, semaphore: Semaphore, random: () => number, tally: Tally): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const handle = await ask(semaphore, random);
    if (handle === null) {
      tally.misses++;
      continue;
    }
    tally.grants++;
    tally.inside += handle.permits;
    tally.most = Math.max(tally.most, tally.inside);
    await h.pass(random() * 4);
    tally.inside -= handle.permits;
    await handle.release();
  }
}

function crowd(seed: number): Case {
  return [
    `many clients that ask, give up and let go by chance never hold more than the limit together (seed ${seed})`,
    async (h) => {
      const name = h.name();
      const providers = await Promise.all([1, 2, 3].map(() => h.provider()));
      const random = seededRandom(seed);
      const tally: Tally = { inside: 0, most: 0, grants: 0, misses: 0 };
      const all = Array.from({ length: clients }, (_, i) => {
        const provider = providers[i % providers.length] as LockProvider;
        return contend(h, provider.semaphore(name, limit), random, tally);
      });
      await Promise.all(all);
      const { most, grants, misses, inside } = tally;
      expect({ seed, within: most <= limit, inside }).toEqual({ seed, within: true, inside: 0 });
      expect(grants + misses).toBe(clients * rounds);
      expect(grants).toBeGreaterThan(0);
      await untilAvailable(h, (providers[0] as LockProvider).semaphore(name, limit), limit);
    },
  ];
}

/** Cases that count the permits held, and expect that they never exceed the limit. */
export const semaphoreCrowdCases: readonly Case[] = [crowd(11), crowd(4_242), crowd(987_654_321)];
