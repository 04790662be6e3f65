import { type LockHandle, LockLostError } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { share } from "../../support/share.js";
import { spread } from "./figures.js";
import { expectNoHolds, Stage } from "./stage.js";
import { testLimitMs } from "./test-limit.js";

vi.setConfig({ testTimeout: testLimitMs });

let stage: Stage;
/** Longer than the start of a server, which is limited to 30 s, and the reconnect after it together. */
const lastingMs = 60_000;
/** Longer than a busy machine stands still, so that no session ends before the server is paused. */
const pausedMs = 4_000;

beforeAll(async () => {
  stage = await Stage.open({ maxSessionTimeoutMs: lastingMs });
});
afterAll(async () => {
  await stage.close();
});

describe("a single server that crashes and starts again within the session", () => {
  it("costs no client its hold or its place in the queue, and all are served in order", async () => {
    const holder = await stage.actor({ sessionTimeoutMs: lastingMs });
    const waiter = await stage.actor({ sessionTimeoutMs: lastingMs });
    const told: string[] = [];
    for (const [who, { locks }] of Object.entries({ holder, waiter })) {
      for (const type of ["uncertain", "recovered", "lost", "requeued"] as const) {
        locks.events.on(type, () => told.push(`${who} ${type}`));
      }
    }
    const backMs: number[] = [];
    const count = share("restarts of a single server", 1, 20);
    for (let i = 0; i < count; i++) {
      const path = await stage.path();
      told.length = 0;
      holder.proxy.reset();
      waiter.proxy.reset();
      const handle = await holder.locks.mutex(path).acquire();
      const order: string[] = [];
      const waits: Promise<void>[] = [];
      const serve = async (who: string, acquired: Promise<LockHandle>): Promise<void> => {
        const got = await acquired;
        expect(got.state).toBe("held");
        order.push(who);
        expect(await got.release()).toBe("released");
      };
      const wait = (who: string, acquired: Promise<LockHandle>): void => {
        const served = serve(who, acquired);
        served.catch(() => {}); // awaited below, unless the test has failed before
        waits.push(served);
      };
      wait("second", waiter.locks.mutex(path).acquire({ waitMs: 2 * lastingMs }));
      await stage.queued(waiter, path);
      // Two waiters in the holder's own session, so that the lock is handed to another session and within one session.
      wait("third", holder.locks.mutex(path).acquire({ waitMs: 2 * lastingMs }));
      await eventually(async () => (await stage.operator.children(path)).length === 3, {
        what: "three nodes",
      });
      wait("fourth", holder.locks.mutex(path).acquire({ waitMs: 2 * lastingMs }));
      await eventually(async () => (await stage.operator.children(path)).length === 4, {
        what: "four nodes",
      });
      const before = await stage.operator.queue(path);

      const crashedAtMs = performance.now();
      await stage.server.kill();
      await eventually(() => handle.state === "uncertain", {
        what: "the holder to be told",
        withinMs: 5_000,
      });
      expect(() => handle.assertHeld()).not.toThrow();
      await stage.server.restart();
      await eventually(() => handle.state === "held", { what: "the hold to recover" });
      backMs.push(performance.now() - crashedAtMs);
      await stage.backAgain(holder, waiter);
      await stage.newOperator();
      expect(await stage.operator.queue(path)).toEqual(before);
      expect(order).toEqual([]);
      expect(await handle.release()).toBe("released");
      await Promise.all(waits);
      expect(order).toEqual(["second", "third", "fourth"]);
      expect(told).toEqual(["holder uncertain", "holder recovered"]);
      expect(await stage.operator.children(path)).toEqual([]);
      expectNoHolds(holder, waiter);
    }
    console.log(`crash and restart of a single server: hold recovered after ${spread(backMs)}`);
  });
});

describe("a single server that stands still for longer than the session", () => {
  it("is reported to the holder as a loss first, and then serves the waiter under a new session", async () => {
    const [holder, waiter] = [
      await stage.actor({ sessionTimeoutMs: pausedMs }),
      await stage.actor({ sessionTimeoutMs: pausedMs }),
    ];
    const count = share("pauses of a single server", 1, 20);
    for (let i = 0; i < count; i++) {
      const path = await stage.path();
      waiter.proxy.reset();
      const handle = await holder.locks.mutex(path).acquire({ waitMs: 20_000 });
      const token = handle.token as bigint;
      const acquired = waiter.locks.mutex(path).acquire({ waitMs: 20_000 });
      await stage.queued(waiter, path);
      const requeued = new Promise((resolve) => {
        const heard = waiter.locks.events.on("requeued", (event) => {
          heard[Symbol.dispose]();
          resolve(event.reason);
        });
      });
      await stage.server.pause();
      await eventually(() => handle.lost.aborted, {
        what: "the holder to be told",
        withinMs: pausedMs + 10_000,
        everyMs: 5,
      });
      expect(() => handle.assertHeld()).toThrow(LockLostError);
      expect(await requeued).toBe("session-lost");
      stage.server.resume();
      const granted = await acquired;
      expect(granted.token).toBeGreaterThan(token);
      expect(await handle.release()).toBe("lost");
      expect(await granted.release()).toBe("released");
      await stage.backAgain(holder);
      await stage.newOperator();
      await stage.empty(path, 5_000);
      expectNoHolds(holder, waiter);
    }
  });
});
