import type { LockHandle } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import { expect, it } from "vitest";
import { everyLock, type LockRecipe } from "../lock-recipes.js";
import type { Client, Site } from "../site.js";

/** Registers what every exclusive lock does. */
export function everyLockRows(site: Site, recipe: LockRecipe): void {
  it("1: is held inside a scope and free after it, however the body ends", async () => {
    const [owner, other] = [await site.client(), await site.client()];
    const path = site.path();
    const lock = recipe.open(owner.locks, path);
    const theirs = recipe.open(other.locks, path);
    const handle = await lock.withLock(async (held) => {
      held.assertHeld();
      expect(await theirs.tryAcquire()).toBeNull();
      return held;
    });
    expect(handle.state).toBe("released");
    const own = new Error("the body's own");
    await expect(lock.withLock(() => Promise.reject(own))).rejects.toBe(own);
    const next = await theirs.tryAcquire();
    expect(await next?.release()).toBe("released");
  });

  it("3: passes on when the session of holder and waiter ends: lost to one, a place at the tail to the other", async () => {
    const [client, other] = [await site.client(), await site.client()];
    const operator = await site.operator();
    const path = site.path();
    const requeued: string[] = [];
    client.locks.events.on("requeued", ({ reason }) => requeued.push(reason));
    const order: string[] = [];
    const serve = async (who: string, acquired: Promise<LockHandle>): Promise<LockHandle> => {
      const granted = await acquired;
      order.push(who);
      return granted;
    };
    const held = await recipe.open(client.locks, path).acquire();
    const sameSession = serve("same client", recipe.open(client.locks, path).acquire({ waitMs: 20_000 }));
    await waiters(1);
    const otherSession = serve("other client", recipe.open(other.locks, path).acquire({ waitMs: 20_000 }));
    await waiters(2);

    await site.expire(client);
    await eventually(() => held.lost.aborted, { what: "the holder to be told" });
    expect(held.lost.reason).toMatchObject({ code: "HF_LOCK_LOST", reason: "session-expired" });
    expect(() => held.assertHeld()).toThrow();
    expect(await held.release()).toBe("lost");

    // The waiter's place in the dead session is gone, so the waiter behind it comes first.
    const second = await otherSession;
    await waiters(1);
    expect(order).toEqual(["other client"]);
    expect(requeued).toEqual(["session-lost"]);
    expect(second.token).toBeGreaterThan(held.token as bigint);
    await second.release();
    const third = await sameSession;
    expect(third.token).toBeGreaterThan(second.token as bigint);
    expect(await third.release()).toBe("released");

    async function waiters(count: number): Promise<void> {
      await eventually(async () => (await recipe.waiting(operator, path)) === count, {
        what: `${count} in the queue`,
      });
    }
  });

  it("4: leaves no path behind once ten contenders are done", async () => {
    const clients = [await site.client(), await site.client()];
    const operator = await site.operator();
    const path = site.path();
    const top = path.slice(0, path.indexOf("/", 1));
    await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        const { locks } = clients[i % 2] as (typeof clients)[0];
        await recipe.open(locks, path).withLock({ waitMs: 20_000 }, async () => {
          expect(await operator.exists(path)).toBe(true);
        });
      }),
    );
    await eventually(async () => !(await operator.exists(top)), { what: `${top} to be removed` });
  });

  it("5: excludes clients of its namespace, and none outside it", async () => {
    const [one, other, outside] = [
      await site.client({ namespace: "team" }),
      await site.client({ namespace: "team" }),
      await site.client(),
    ];
    const operator = await site.operator();
    const path = site.path();
    const handle = await recipe.open(one.locks, path).acquire();
    expect(await operator.children(`/team${path}`)).not.toEqual([]);
    expect(await operator.exists(path)).toBe(false);
    expect(await recipe.open(other.locks, path).tryAcquire()).toBeNull();
    // Without the namespace, the whole path is the same lock, and the same name is another lock.
    expect(await recipe.open(outside.locks, `/team${path}`).tryAcquire()).toBeNull();
    const unrelated = await recipe.open(outside.locks, path).tryAcquire();
    expect(await unrelated?.release()).toBe("released");
    expect(await handle.release()).toBe("released");
    const next = await recipe.open(other.locks, path).tryAcquire();
    expect(await next?.release()).toBe("released");
  });

  it("6: lets ten callers of one lock object in one at a time", async () => {
    const client = await site.client();
    const lock = recipe.open(client.locks, site.path());
    const rounds = 3;
    let inside = 0;
    const tokens: bigint[] = [];
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let round = 0; round < rounds; round++) {
          await lock.withLock({ waitMs: 30_000 }, async (held) => {
            inside += 1;
            expect(inside).toBe(1);
            tokens.push(held.token as bigint);
            await held.confirm();
            expect(inside).toBe(1);
            inside -= 1;
          });
        }
      }),
    );
    expect(tokens).toHaveLength(10 * rounds);
    expect([...new Set(tokens)].sort((a, b) => (a < b ? -1 : 1))).toEqual(tokens);
  });

  it("9: is held by exactly one of two clients at a time, and goes over at each release", async () => {
    const clients = [await site.client(), await site.client()];
    const operator = await site.operator();
    const path = site.path();
    const rounds = 12;
    const log: { who: number; token: bigint }[] = [];
    let holder: LockHandle | null = null;
    await Promise.all(
      clients.map(async ({ locks }, who) => {
        for (let round = 0; round < rounds; round++) {
          const handle = await recipe.open(locks, path).acquire({ waitMs: 20_000 });
          expect(holder).toBeNull();
          holder = handle;
          log.push({ who, token: handle.token as bigint });
          // While the other client still has rounds to go, it must be in the queue before this one releases.
          if (log.length < 2 * rounds - 1 && round < rounds - 1) {
            await eventually(async () => (await recipe.waiting(operator, path)) === 1, {
              what: "the other client in the queue",
              everyMs: 1,
            });
          }
          handle.assertHeld();
          expect(holder).toBe(handle);
          holder = null;
          expect(await handle.release()).toBe("released");
        }
      }),
    );
    expect(log).toHaveLength(2 * rounds);
    for (let i = 1; i < log.length; i++) {
      expect(log[i]?.token).toBeGreaterThan(log[i - 1]?.token as bigint);
      expect(log[i]?.who).not.toBe(log[i - 1]?.who);
    }
  });
}

/** One restart of the server for all kinds of locks. */
export function restartRow(site: Site): void {
  it("2: lets the holder and the waiter of each kind of lock finish when the server restarts under them", async () => {
    // A busy machine may take more than ten seconds to start a JVM.
    const long = { sessionTimeoutMs: 40_000, connectTimeoutMs: 60_000 };
    const [owner, other] = [await site.client(long), await site.client(long)];
    const operator = await site.operator();
    const told: string[] = [];
    for (const { locks } of [owner, other]) {
      for (const type of ["lost", "requeued"] as const) locks.events.on(type, ({ name }) => told.push(name));
    }
    const granted = new Set<string>();
    const contests = await Promise.all(
      everyLock.map(async (recipe) => {
        const path = site.path();
        const holder = await recipe.open(owner.locks, path).acquire();
        const waiter = recipe
          .open(other.locks, path)
          .acquire({ waitMs: 90_000 })
          .then((handle) => {
            granted.add(recipe.title);
            return handle;
          });
        await eventually(async () => (await recipe.waiting(operator, path)) === 1, {
          what: `a waiter for the ${recipe.title}`,
        });
        return { title: recipe.title, holder, waiter };
      }),
    );
    const outages = [owner, other].map(outage);
    await site.server.restart();
    await Promise.all(outages);
    for (const { title, holder } of contests) {
      await eventually(() => holder.state === "held", { what: `the ${title} to be sure again` });
    }
    for (const { title, holder, waiter } of contests) {
      await holder.confirm();
      expect(granted.has(title), title).toBe(false);
      expect(await holder.release(), title).toBe("released");
      const next = await waiter;
      expect(next.token, title).toBeGreaterThan(holder.token as bigint);
      expect(await next.release(), title).toBe("released");
    }
    expect(told).toEqual([]);
  });
}

/** Waits until contact was broken and is back. */
async function outage({ locks }: Client): Promise<void> {
  const heard: string[] = [];
  using _ = locks.events.on("session-state", ({ state }) => heard.push(state));
  await eventually(() => heard.includes("suspended") && heard.at(-1) === "connected", {
    what: "an outage that is over",
    withinMs: 60_000,
    detail: () => heard.join(", "),
  });
}
