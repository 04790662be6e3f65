import type { LockProvider } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type WebLock, type WebLockManager, webLocks } from "../src/index.js";

/** A promise that the test settles. */
function gate<T = void>(): { readonly open: (value: T) => void; readonly passed: Promise<T> } {
  let open: (value: T) => void = () => {};
  const passed = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

let names = 0;

/** What the standard demands of a lock manager, on each kind of provider. Each `make()` is another client of one backend. */
export function standard(where: string, make: () => Promise<LockProvider>): void {
  describe(`web locks on ${where}`, () => {
    let providers: LockProvider[];
    let locks: WebLockManager;
    let others: WebLockManager;
    let name: string;

    beforeEach(async () => {
      providers = [await make(), await make()];
      [locks, others] = providers.map((provider) => webLocks(provider)) as [WebLockManager, WebLockManager];
      name = `standard ${++names} of ${process.pid}`;
    });
    afterEach(async () => {
      await Promise.all(providers.map((provider) => provider.close()));
    });

    /** A hold that ends when the test says so. */
    async function hold(manager: WebLockManager, mode: "exclusive" | "shared" = "exclusive") {
      const [granted, over] = [gate<WebLock>(), gate()];
      const ended = manager.request(name, { mode }, async (lock) => {
        granted.open(lock);
        await over.passed;
        return "held";
      });
      const settled = ended.then(
        () => "resolved",
        (error) => error,
      );
      return { lock: await granted.passed, end: () => over.open(), ended, settled };
    }

    const pendingNow = async (manager: WebLockManager): Promise<number> =>
      (await manager.query()).pending.length;

    describe("request()", () => {
      it("calls the callback with the lock, and settles as what it returns", async () => {
        const seen = await locks.request(name, (lock) => [lock.name, lock.mode, lock.lost.aborted]);
        expect(seen).toEqual([name, "exclusive", false]);
        expect(await locks.request(name, async () => 42)).toBe(42);
        for (const options of [undefined, null])
          expect(await locks.request(name, options, async ({ mode }) => mode)).toBe("exclusive");
      });

      it("rejects with what the callback throws or rejects with, and gives the lock back", async () => {
        const wrong = new Error("of the callback");
        await expect(
          locks.request(name, () => {
            throw wrong;
          }),
        ).rejects.toBe(wrong);
        await expect(locks.request(name, () => Promise.reject(wrong))).rejects.toBe(wrong);
        expect(await locks.request(name, { ifAvailable: true }, (lock) => lock !== null)).toBe(true);
      });

      it("never calls the callback before it returns", async () => {
        let called = false;
        const request = locks.request(name, () => {
          called = true;
        });
        expect(called).toBe(false);
        await request;
        expect(called).toBe(true);
      });

      it.each([
        ["no callback", () => locks.request(name, undefined as never), TypeError],
        ["a callback that is none", () => locks.request(name, {}, 5 as never), TypeError],
        ["a mode that is none", () => locks.request(name, { mode: "both" as never }, () => {}), TypeError],
        ["a signal that is none", () => locks.request(name, { signal: {} as never }, () => {}), TypeError],
      ])("rejects %s with TypeError", async (_, request, kind) => {
        await expect(request()).rejects.toBeInstanceOf(kind);
      });

      it.each([
        ["a name that begins with a hyphen", () => locks.request("-a", () => {})],
        ["steal with ifAvailable", () => locks.request(name, { steal: true, ifAvailable: true }, () => {})],
        ["steal of a shared lock", () => locks.request(name, { steal: true, mode: "shared" }, () => {})],
        [
          "steal with a signal",
          () => locks.request(name, { steal: true, signal: new AbortController().signal }, () => {}),
        ],
        [
          "ifAvailable with a signal",
          () => locks.request(name, { ifAvailable: true, signal: new AbortController().signal }, () => {}),
        ],
      ])("rejects %s with NotSupportedError", async (_, request) => {
        await expect(request()).rejects.toMatchObject({ name: "NotSupportedError" });
        await expect(request()).rejects.toBeInstanceOf(DOMException);
      });

      it("takes any other name: empty, of one or two dots, with separators, control characters and half a character", async () => {
        const strange = ["", ".", "..", "a/b", "/", "a%b", "%", "\u0000\n", "ключ 鍵 🔑", "\ud800", "a-"];
        const held = await Promise.all(
          strange.map((each) => locks.request(each, { ifAvailable: true }, (lock) => lock?.name ?? "taken")),
        );
        expect(held).toEqual(strange);
      });
    });

    describe("modes", () => {
      it("an exclusive lock is held alone, and requests are granted in their order", async () => {
        const order: number[] = [];
        let inside = 0;
        await Promise.all(
          [1, 2, 3, 4].map((nth) =>
            locks.request(name, async () => {
              expect(++inside).toBe(1);
              order.push(nth);
              await Promise.resolve();
              inside--;
            }),
          ),
        );
        expect(order).toEqual([1, 2, 3, 4]);
      });

      it("an exclusive lock is held alone across managers", async () => {
        const first = await hold(locks);
        let entered = false;
        const second = others.request(name, () => {
          entered = true;
        });
        expect(await others.request(name, { ifAvailable: true }, (lock) => lock)).toBeNull();
        expect(entered).toBe(false);
        first.end();
        expect(await first.ended).toBe("held");
        await second;
        expect(entered).toBe(true);
      });

      it("shared locks are held together, also across managers, and keep out an exclusive one", async () => {
        const both = [await hold(locks, "shared"), await hold(others, "shared")];
        let alone = false;
        const writer = locks.request(name, () => {
          alone = true;
        });
        expect(await pendingNow(locks)).toBe(1);
        both[0]?.end();
        await both[0]?.ended;
        expect(alone).toBe(false);
        both[1]?.end();
        await writer;
        expect(alone).toBe(true);
      });

      it("a shared request behind an exclusive one waits for it", async () => {
        const reader = await hold(locks, "shared");
        const order: string[] = [];
        const writer = locks.request(name, () => void order.push("writer"));
        const late = locks.request(name, { mode: "shared" }, () => void order.push("reader"));
        reader.end();
        await Promise.all([writer, late]);
        expect(order).toEqual(["writer", "reader"]);
      });
    });

    describe("ifAvailable", () => {
      it("gives the lock where it is free, null where it is held", async () => {
        expect(await locks.request(name, { ifAvailable: true }, (lock) => lock?.mode)).toBe("exclusive");
        const held = await hold(locks);
        expect(await locks.request(name, { ifAvailable: true }, (lock) => lock)).toBeNull();
        expect(await locks.request(name, { mode: "shared", ifAvailable: true }, (lock) => lock)).toBeNull();
        held.end();
        await held.ended;
      });

      it("gives null behind a request that waits, and shared beside shared", async () => {
        const held = await hold(locks, "shared");
        const beside = await locks.request(name, { mode: "shared", ifAvailable: true }, (lock) => lock?.mode);
        expect(beside).toBe("shared");
        const writer = locks.request(name, () => {});
        expect(await locks.request(name, { mode: "shared", ifAvailable: true }, (lock) => lock)).toBeNull();
        held.end();
        await writer;
      });

      it("gives the lock to several at once that may share it, and to one of several that may not", async () => {
        const share = (nth: number) =>
          locks.request(name, { mode: "shared", ifAvailable: true }, (lock) => lock && nth);
        expect(await Promise.all([1, 2, 3].map(share))).toEqual([1, 2, 3]);
        const over = gate();
        const first = locks.request(name, { ifAvailable: true }, async (lock) => {
          await over.passed;
          return lock?.mode;
        });
        expect(await locks.request(name, { ifAvailable: true }, (lock) => lock)).toBeNull();
        over.open();
        expect(await first).toBe("exclusive");
      });
    });

    describe("signal", () => {
      it("that has aborted rejects with its reason, and the callback is not called", async () => {
        const reason = new Error("enough");
        const request = locks.request(name, { signal: AbortSignal.abort(reason) }, () => "called");
        await expect(request).rejects.toBe(reason);
        await expect(
          locks.request(name, { signal: AbortSignal.abort() }, () => "called"),
        ).rejects.toMatchObject({ name: "AbortError" });
      });

      it("ends a wait, whether first or later in the queue, and those behind it are served", async () => {
        const held = await hold(locks);
        const aborts = [new AbortController(), new AbortController()];
        const waiting = aborts.map(({ signal }) => locks.request(name, { signal }, () => "called"));
        const last = locks.request(name, () => "served");
        expect(await pendingNow(locks)).toBe(3);
        for (const abort of [...aborts].reverse()) abort.abort("gone");
        const ends = await Promise.allSettled(waiting);
        expect(ends).toEqual(aborts.map(() => ({ status: "rejected", reason: "gone" })));
        held.end();
        expect(await last).toBe("served");
      });

      it("does nothing once the lock is granted", async () => {
        const abort = new AbortController();
        const request = locks.request(name, { signal: abort.signal }, async (lock) => {
          abort.abort();
          await Promise.resolve();
          return lock.lost.aborted;
        });
        expect(await request).toBe(false);
      });
    });

    describe("steal", () => {
      it("grants at once, and the request of the holder rejects with AbortError while its callback goes on", async () => {
        const held = await hold(locks);
        expect(await locks.request(name, { steal: true }, (lock) => lock.mode)).toBe("exclusive");
        expect(await held.settled).toMatchObject({ name: "AbortError" });
        expect(held.lock.lost.aborted).toBe(true);
        expect(held.lock.lost.reason).toMatchObject({ name: "AbortError" });
      });

      it("takes a free lock as any other request does", async () => {
        expect(await locks.request(name, { steal: true }, (lock) => lock.name)).toBe(name);
      });

      it("goes before the requests that wait, which keep their order", async () => {
        const held = await hold(locks);
        const order: string[] = [];
        const waiting = ["first", "second"].map((each) => locks.request(name, () => void order.push(each)));
        await eventually(async () => (await pendingNow(locks)) === 2, { what: "two that wait" });
        const thief = locks.request(name, { steal: true }, () => void order.push("thief"));
        await Promise.all([thief, ...waiting]);
        expect(await held.settled).toMatchObject({ name: "AbortError" });
        expect(order).toEqual(["thief", "first", "second"]);
      });

      it("takes the lock from a holder of another manager", async () => {
        const held = await hold(others);
        expect(await locks.request(name, { steal: true }, () => "stolen")).toBe("stolen");
        expect(await held.settled).toMatchObject({ name: "AbortError" });
      });

      it("is granted although another manager on the same provider holds, whose request rejects", async () => {
        const held = await hold(webLocks(providers[0] as LockProvider));
        expect(await locks.request(name, { steal: true }, () => "stolen")).toBe("stolen");
        expect(await held.settled).toMatchObject({ name: "AbortError" });
      });
    });

    describe("query()", () => {
      it("has nothing where nothing is asked for", async () => {
        expect(await locks.query()).toEqual({ held: [], pending: [] });
      });

      it("has holds and requests with their names, modes and clients, requests in their order", async () => {
        const held = await hold(locks, "shared");
        const writers = [1, 2].map(() => locks.request(name, () => {}));
        const clientId = providers[0]?.id;
        expect(await locks.query()).toEqual({
          held: [{ name, mode: "shared", clientId }],
          pending: [
            { name, mode: "exclusive", clientId },
            { name, mode: "exclusive", clientId },
          ],
        });
        held.end();
        await Promise.all(writers);
        expect(await locks.query()).toEqual({ held: [], pending: [] });
      });

      it("has the holder of another manager whose lock is waited for", async () => {
        const held = await hold(others);
        const waiting = locks.request(name, () => {});
        const seen = await locks.query();
        expect(seen.held).toMatchObject([{ name, mode: "exclusive" }]);
        expect(seen.held[0]?.clientId).not.toBe(providers[0]?.id);
        held.end();
        await waiting;
      });

      it("has the holder of another manager on the same provider, as a hold of the provider, and its own holds once", async () => {
        const held = await hold(webLocks(providers[0] as LockProvider), "shared");
        const clientId = providers[0]?.id;
        expect(await locks.query()).toEqual({ held: [], pending: [] });
        const own = await hold(locks, "shared");
        const shared = { name, mode: "shared", clientId };
        expect(await locks.query()).toEqual({ held: [shared, shared], pending: [] });
        own.end();
        await own.ended;
        const waiting = locks.request(name, () => {});
        expect((await locks.query()).held).toEqual([shared]);
        held.end();
        await waiting;
      });
    });

    it("a provider that closes rejects what waits, and takes what is held", async () => {
      const held = await hold(locks);
      const waiting = locks.request(name, () => "called").catch((error) => error.code);
      await providers[0]?.close();
      expect(await waiting).toBe("HF_PROVIDER_CLOSED");
      expect(await held.settled).toMatchObject({ code: "HF_LOCK_LOST" });
      expect(held.lock.lost.aborted).toBe(true);
    });
  });
}
