import { ProviderClosedError } from "@holdfast/core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { share } from "../../support/share.js";
import { Balance, Chance, exactly } from "../server/chance.js";
import { type Actor, expectFree, expectNoHolds, Stage } from "../server/stage.js";
import { testLimitMs } from "../server/test-limit.js";
import { handleOrApproved, type Way, ways } from "./ways.js";

vi.setConfig({ testTimeout: testLimitMs });

let stage: Stage;
let holder: Actor;
let caller: Actor;
let path: string;

beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});
// Each test gets new ones, so that what a failed test leaves behind does not make other tests fail.
beforeEach(async () => {
  path = await stage.path();
  [holder, caller] = [await stage.actor(), await stage.actor()];
  caller.proxy.reset();
});
afterEach(async () => {
  await stage.empty(path);
  expectNoHolds(holder, caller);
});

describe("an acquire that is aborted in the turn of the loop in which its grant comes", () => {
  it.each([
    ["before the grant", (abort: () => void) => abort()],
    // After the grant and before its delivery: the caller never gets the handle.
    ["between the grant and its delivery", (abort: () => void) => queueMicrotask(abort)],
  ])("%s, rejects and gives the lock on", async (what, when) => {
    const count = share(`aborts ${what}`, 5, 100);
    for (let i = 0; i < count; i++) {
      caller.proxy.reset();
      const first = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      const controller = new AbortController();
      const reason = { why: "the caller has had enough" };
      const heard = caller.locks.events.on("notified", () => when(() => controller.abort(reason)));
      const acquired = caller.locks.mutex(path).acquire({ signal: controller.signal });
      const rejected = expect(acquired).rejects.toBe(reason);
      await stage.queued(caller, path);
      expect(await first.release()).toBe("released");
      await rejected;
      heard[Symbol.dispose]();
      await expectFree(stage, path, holder, caller);
    }
  });
});

describe("many waiters of one provider", () => {
  it("that give up at any moment of a draining queue leave nothing, and one holds at a time", async () => {
    const chance = new Chance();
    const ends = { granted: 0, refused: 0 };
    const count = share("draining queues with waiters that give up", 3, 50);
    // The longest wait before a waiter gives up. The loop adjusts it to the speed at which this machine drains a queue.
    let patienceMs = 120;
    for (let i = 0; i < count || Math.min(ends.granted, ends.refused) === 0; i++) {
      const before = { ...ends };
      const first = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      let holds = 0;
      const waits = Array.from({ length: 40 }, async (_, index) => {
        const way = ways[index % ways.length] as Way;
        const actor = index % 3 === 0 ? holder : caller;
        const { options, expectError } = begin(way);
        const handle = await handleOrApproved(actor.locks.mutex(path).acquire(options), expectError);
        if (handle === null) {
          ends.refused++;
          return;
        }
        ends.granted++;
        expect(++holds).toBe(1);
        expect(handle.state).toBe("held");
        await exactly(chance.between(0, 1));
        holds--;
        expect(await handle.release()).toBe("released");
      });
      await exactly(20);
      expect(await first.release()).toBe("released");
      await Promise.all(waits);
      await expectFree(stage, path, holder, caller);
      if (ends.granted === before.granted) patienceMs *= 2;
      else if (ends.refused === before.refused) patienceMs /= 2;
    }
    console.log(`draining queues with waiters that give up: ${JSON.stringify(ends)}, seed ${chance.seed}`);

    function begin(way: Way): ReturnType<Way["begin"]> {
      return way.begin(chance.between(10, patienceMs));
    }
  });
});

describe("a waiter that is called off while its link is broken", () => {
  it("rejects at once, and its node goes as soon as there is a link again", async () => {
    const count = share("waits called off without a link", 3, 50);
    for (let i = 0; i < count; i++) {
      const handle = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      caller.proxy.reset();
      const controller = new AbortController();
      const reason = { why: "the caller has had enough" };
      const acquired = caller.locks.mutex(path).acquire({ signal: controller.signal });
      const rejected = expect(acquired).rejects.toBe(reason);
      await stage.queued(caller, path);
      const suspended = new Promise<void>((resolve) => {
        const heard = caller.locks.events.on("session-state", ({ state }) => {
          if (state !== "suspended") return;
          heard[Symbol.dispose]();
          resolve();
        });
      });
      await caller.proxy.setMode("refuse");
      caller.proxy.resetAll();
      await suspended;
      const before = performance.now();
      controller.abort(reason);
      await rejected;
      expect(performance.now() - before).toBeLessThan(5_000);
      expect(await stage.operator.children(path)).toHaveLength(2);
      await caller.proxy.setMode("ok");
      await caller.locks.ready();
      expect(await handle.release()).toBe("released");
      await expectFree(stage, path, holder, caller);
    }
  });
});

describe("a provider that is closed at the moment of a grant", () => {
  it("rejects the acquire or takes the hold back, and leaves nothing", async () => {
    const chance = new Chance();
    const ends = { granted: 0, refused: 0 };
    const lead = new Balance(1, 0.4);
    const count = share("providers closed at a grant", 8, 100);
    for (let i = 0; i < count; i++) {
      const first = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      const closing = await stage.actor();
      const acquired = closing.locks.mutex(path).acquire();
      await stage.queued(closing, path);
      const released = first.release();
      const settled = handleOrApproved(acquired, (error) =>
        expect(error).toBeInstanceOf(ProviderClosedError),
      );
      await exactly(Math.max(0, lead.value + chance.between(-0.3, 0.3)));
      const report = await closing.locks.close();
      const handle = await settled;
      expect(await released).toBe("released");
      if (handle === null) {
        ends.refused++;
        lead.more();
      } else {
        ends.granted++;
        lead.less();
        expect(handle.state).toBe("lost");
      }
      expect(report.unconfirmed).toEqual([]);
      expect(closing.locks.holds()).toEqual([]);
      await expectFree(stage, path, holder, caller);
    }
    console.log(`providers closed at a grant: ${JSON.stringify(ends)}, seed ${chance.seed}`);
  });
});
