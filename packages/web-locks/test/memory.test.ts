import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { type LockProvider, MemorySpace, memoryLocks } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { expect, it } from "vitest";
import { webLocks } from "../src/index.js";
import { standard } from "./standard.js";

const space = new MemorySpace();
standard("memory", async (): Promise<LockProvider> => memoryLocks({ space }));

it("an option that is not known, and a prefix that is no string, are refused at once", () => {
  const provider = memoryLocks();
  expect(() => webLocks(provider, { prefx: "x/" } as never)).toThrow(/did you mean prefix/);
  expect(() => webLocks(provider, { prefix: 1 } as never)).toThrow(/prefix must be a string/);
});

it("a request whose lock is lost with the session rejects at once, and `lost` aborts for its callback", async () => {
  const provider = memoryLocks();
  const told: unknown[] = [];
  const request = webLocks(provider).request("lost", async ({ lost }) => {
    const over = new Promise((resolve) => lost.addEventListener("abort", resolve, { once: true }));
    memoryControls(provider).expire();
    await over;
    told.push((lost.reason as { code?: string }).code);
  });
  await expect(request).rejects.toMatchObject({ code: "HF_LOCK_LOST" });
  expect(told).toEqual(["HF_LOCK_LOST"]);
  await provider.close();
});

it("a lock that is asked back before its callback could be called is given up, and the callback is not called", async () => {
  const together = new MemorySpace();
  const [one, other] = [memoryLocks({ space: together }), memoryLocks({ space: together })];
  one.events.on("acquire-settled", () => void other.readWriteLock("web-locks/a").requestRevoke());
  let begun = false;
  const robbed = webLocks(one).request("a", () => {
    begun = true;
  });
  await expect(robbed).rejects.toMatchObject({ name: "AbortError" });
  expect(begun).toBe(false);
  await Promise.all([one.close(), other.close()]);
});

it("a lock that steals is asked for again when it is asked back before its callback could be called", async () => {
  const together = new MemorySpace();
  const [one, other] = [memoryLocks({ space: together }), memoryLocks({ space: together })];
  let grants = 0;
  one.events.on("acquire-settled", () => {
    if (++grants === 1) void other.readWriteLock("web-locks/a").requestRevoke();
  });
  expect(await webLocks(one).request("a", { steal: true }, () => "held")).toBe("held");
  expect(grants).toBe(2);
  await Promise.all([one.close(), other.close()]);
});

it("a listener of the loss of a stolen lock runs outside of the thief's scopes: it waits for a lock that the thief has", async () => {
  const provider = memoryLocks();
  const [locks, m] = [webLocks(provider), provider.reentrantMutex("m")];
  const order: string[] = [];
  let cleaned: Promise<unknown> | undefined;
  const robbed = locks.request("a", ({ lost }) => {
    lost.addEventListener("abort", () => {
      cleaned = m.withLock(() => order.push("cleanup of the robbed"));
    });
    return new Promise(() => {});
  });
  robbed.catch(() => {});
  await setImmediate();
  await m.withLock(async () => {
    await locks.request("a", { steal: true }, () => {});
    await setImmediate();
    order.push("end of the thief's body");
  });
  await cleaned;
  expect(order).toEqual(["end of the thief's body", "cleanup of the robbed"]);
  await provider.close();
});

it("a lock that steals from another manager is granted once", async () => {
  const together = new MemorySpace();
  const [one, other] = [memoryLocks({ space: together }), memoryLocks({ space: together })];
  const robbed = webLocks(other).request("a", () => new Promise(() => {}));
  await setImmediate();
  let grants = 0;
  one.events.on("acquire-settled", () => void grants++);
  expect(await webLocks(one).request("a", { steal: true }, () => "held")).toBe("held");
  await expect(robbed).rejects.toMatchObject({ name: "AbortError" });
  expect(grants).toBe(1);
  await Promise.all([one.close(), other.close()]);
});

it("two managers that steal in the same moment are both served", async () => {
  const together = new MemorySpace();
  const providers = [memoryLocks({ space: together }), memoryLocks({ space: together })];
  let served = 0;
  const thieves = providers.map((provider) =>
    webLocks(provider).request("a", { steal: true }, () => {
      served++;
    }),
  );
  const outcomes = await Promise.allSettled(thieves);
  expect(served).toBe(2);
  expect(outcomes.map(({ status }) => status)).toContain("fulfilled");
  for (const outcome of outcomes)
    if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ name: "AbortError" });
  await Promise.all(providers.map((provider) => provider.close()));
});

it("a lock that is lost before its callback could be called rejects, and the callback is not called", async () => {
  const provider = memoryLocks();
  provider.events.on("acquire-settled", () => memoryControls(provider).expire());
  let begun = false;
  const request = webLocks(provider).request("a", () => {
    begun = true;
  });
  await expect(request).rejects.toMatchObject({ code: "HF_LOCK_LOST" });
  expect(begun).toBe(false);
  await provider.close();
});

it("a request between its grant and its hold keeps its name known when another request of that name ends", async () => {
  const { signal: never } = new AbortController();
  let disposed = (): void => {};
  const disposing = new Promise<void>((resolve) => {
    disposed = resolve;
  });
  const handle = {
    ...{ owner: { id: "o" }, token: 1n, lost: never, revokeRequested: never },
    [Symbol.asyncDispose]: async () => {},
  };
  // The thief is asked to release its first grant. Until that release is done, the thief is between its grant and its hold.
  const askedBack = { revokeRequested: AbortSignal.abort(), [Symbol.asyncDispose]: () => disposing };
  const grants = [{ ...handle, ...askedBack }, handle];
  const write = { acquire: async () => grants.shift(), tryAcquire: async () => null };
  const lock = { write, inspect: async () => ({ held: [] }) };
  const manager = webLocks({ id: "p", readWriteLock: () => lock } as unknown as LockProvider);
  const thief = manager.request("a", { steal: true }, async () => (await manager.query()).held);
  await setImmediate();
  expect(await manager.request("a", { ifAvailable: true }, (other) => other)).toBeNull();
  disposed();
  expect(await thief).toEqual([{ name: "a", mode: "exclusive", clientId: "p" }]);
  expect(await manager.query()).toEqual({ held: [], pending: [] });
});

it("query() has each hold of its manager once, and none that ended while the backend was asked", async () => {
  const provider = memoryLocks();
  const { readWriteLock } = provider;
  const steps: (() => void)[] = [];
  const step = (): Promise<void> => new Promise((resolve) => void steps.push(resolve));
  provider.readWriteLock = (name) => {
    const lock = readWriteLock.call(provider, name);
    const inspect = async () => {
      await step();
      const snapshot = await lock.inspect();
      await step();
      return snapshot;
    };
    return { name, read: lock.read, write: lock.write, inspect } as unknown as ReturnType<
      typeof readWriteLock
    >;
  };
  const manager = webLocks(provider);
  const ends: (() => void)[] = [];
  const body = (): Promise<void> => new Promise((resolve) => void ends.push(resolve));
  const next = async (): Promise<void> => {
    await setImmediate();
    steps.shift()?.();
    await setImmediate();
  };
  const first = manager.request("a", { mode: "shared" }, body);
  await setImmediate();
  const seen = manager.query();
  const second = manager.request("a", { mode: "shared" }, body);
  await next();
  ends.shift()?.();
  await first;
  await next();
  expect((await seen).held).toEqual([{ name: "a", mode: "shared", clientId: provider.id }]);
  ends.shift()?.();
  await second;
  await provider.close();
});

it("names of a manager are locks of the provider below its prefix", async () => {
  const provider = memoryLocks();
  await webLocks(provider, { prefix: "team/" }).request("a/b", async () => {
    expect(provider.holds().map(({ name }) => name)).toEqual(["team/a%2Fb"]);
  });
  await provider.close();
});

it("a signal that outlives its requests keeps nothing of them", async () => {
  const provider = memoryLocks();
  const { signal } = new AbortController();
  const manager = webLocks(provider);
  await manager.request("a", { signal }, () => {});
  await expect(
    manager.request("a", { signal }, () => Promise.reject(new Error("of the body"))),
  ).rejects.toThrow();
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await provider.close();
});
