import { AcquireTimeoutError, DeadlockError } from "@holdfast/core";
import { expect, it } from "vitest";
import { type LockRecipe, reentrantMutex } from "../lock-recipes.js";
import type { Site } from "../site.js";

/**
 * How long a caller waits in vain. By then the server must have said that others are ahead, also on a busy machine: without
 * its answer the call rejects with an outage.
 */
const inVainMs = 2_000;

/** The rows of a lock that its holder may not enter again. */
export function plainLockRows(site: Site, recipe: LockRecipe): void {
  it("7: keeps a second caller out for as long as it waits, in the same client and in another", async () => {
    const [one, other] = [await site.client(), await site.client()];
    const path = site.path();
    const lock = recipe.open(one.locks, path);
    const first = await lock.acquire();
    await Promise.all(
      [lock, recipe.open(other.locks, path)].map(async (second) => {
        expect(await second.tryAcquire()).toBeNull();
        await expect(second.acquire({ waitMs: inVainMs })).rejects.toThrow(AcquireTimeoutError);
      }),
    );
    first.assertHeld();
    expect(await first.release()).toBe("released");
    const next = await recipe.open(other.locks, path).tryAcquire();
    expect(await next?.release()).toBe("released");
  });

  it("8: is not entered a second time by its holder, and its only release frees it", async () => {
    const [one, other] = [await site.client({ detectDeadlocks: true }), await site.client()];
    const path = site.path();
    const lock = recipe.open(one.locks, path);
    await lock.withLock(async (first) => {
      await expect(lock.acquire()).rejects.toThrow(DeadlockError);
      await expect(lock.withLock(() => "inside twice")).rejects.toThrow(DeadlockError);
      expect(await lock.tryAcquire()).toBeNull();
      first.assertHeld();
      expect(await recipe.open(other.locks, path).tryAcquire()).toBeNull();
    });
    const next = await recipe.open(other.locks, path).tryAcquire();
    expect(await next?.release()).toBe("released");
  });
}

export function reentrantRows(site: Site): void {
  it("7: keeps a second owner out for as long as it waits, while the first enters again", async () => {
    const [one, other] = [await site.client(), await site.client()];
    const path = site.path();
    const lock = reentrantMutex.open(one.locks, path);
    const [first, second] = [{ id: "first" }, { id: "second" }];
    const held = await lock.acquire({ owner: first });
    const waits = [lock, reentrantMutex.open(other.locks, path)].map((theirs) =>
      expect(theirs.acquire({ owner: second, waitMs: inVainMs })).rejects.toThrow(AcquireTimeoutError),
    );
    let waiting = true;
    const over = Promise.all(waits).finally(() => {
      waiting = false;
    });
    let entered = 0;
    while (waiting) {
      const again = await lock.acquire({ owner: first });
      expect(again.token).toBe(held.token);
      expect(await again.release()).toBe("still-held");
      entered += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await over;
    expect(entered).toBeGreaterThan(0);
    expect(await held.release()).toBe("released");
    const next = await lock.tryAcquire({ owner: second });
    expect(await next?.release()).toBe("released");
  });

  it("8: entered three times, it is held until it was left three times", async () => {
    const [one, other] = [await site.client(), await site.client()];
    const path = site.path();
    const lock = reentrantMutex.open(one.locks, path);
    const theirs = reentrantMutex.open(other.locks, path);
    const stillOurs = async (count: number): Promise<void> => {
      expect(lock.holdCount()).toBe(count);
      expect(await theirs.tryAcquire()).toBeNull();
    };
    await lock.withLock(async () => {
      await lock.withLock(async () => {
        await lock.withLock(() => stillOurs(3));
        await stillOurs(2);
      });
      await stillOurs(1);
    });
    expect(lock.holdCount()).toBe(0);

    const owner = { id: "by hand" };
    const handles = [
      await lock.acquire({ owner }),
      await lock.acquire({ owner }),
      await lock.acquire({ owner }),
    ];
    for (const [left, outcome] of [
      [2, "still-held"],
      [1, "still-held"],
      [0, "released"],
    ] as const) {
      expect(await theirs.tryAcquire()).toBeNull();
      expect(await handles.shift()?.release()).toBe(outcome);
      expect(lock.holdCount(owner)).toBe(left);
    }
    const next = await theirs.tryAcquire();
    expect(await next?.release()).toBe("released");
  });
}
