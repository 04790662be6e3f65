import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { share } from "../../support/share.js";
import { Balance, Chance, exactly } from "../server/chance.js";
import { type Actor, expectFree, expectNoHolds, Stage, sessionOf } from "../server/stage.js";
import { testLimitMs } from "../server/test-limit.js";
import { abortAfter, handleOrApproved, ways } from "./ways.js";

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

describe("an acquire that is called off before it starts", () => {
  it("rejects with the signal's reason, the same object, without a word to the server", async () => {
    const reason = { why: "never mind" };
    const signal = AbortSignal.abort(reason);
    const mutex = caller.locks.mutex(path);
    await expect(mutex.acquire({ signal })).rejects.toBe(reason);
    await expect(mutex.acquire({ signal, waitMs: 50 })).rejects.toBe(reason);
    await expect(mutex.tryAcquire({ signal })).rejects.toBe(reason);
    expect(caller.proxy.counts().requests).toBe(0);
    expect(await stage.operator.children(path)).toEqual([]);
  });
});

describe.each(ways)("an acquire called off by $what", ({ what, begin, atOnce }) => {
  it("while it waits rejects, and its node goes while the holder's stays", async () => {
    const handle = await holder.locks.mutex(path).acquire();
    const count = share(`waits called off by ${what}`, 3, 50);
    for (let i = 0; i < count; i++) {
      const { options, expectError } = begin(30);
      expect(await handleOrApproved(caller.locks.mutex(path).acquire(options), expectError)).toBeNull();
      // The call ends before its node is deleted. The provider's next acquire waits for that delete.
      await expect.poll(() => stage.operator.children(path)).toHaveLength(1);
    }
    expect(handle.state).toBe("held");
    expect(await handle.release()).toBe("released");
    await expectFree(stage, path, holder, caller);
  });

  it("at the moment of the grant either holds or rejects, and leaves nothing behind", async () => {
    const chance = new Chance();
    const ends = { granted: 0, refused: 0 };
    const lead = new Balance(2, 0.5);
    // Grows on a machine on which no grant comes in time even if the holder releases at the start.
    let giveUpMs = 15;
    const count = share(`hand-offs called off by ${what}`, 16, 500);
    for (let i = 0; i < count || Math.min(ends.granted, ends.refused) === 0; i++) {
      const first = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      const { options, expectError } = begin(giveUpMs);
      const acquired = handleOrApproved(caller.locks.mutex(path).acquire(options), expectError);
      await exactly(Math.max(0, giveUpMs - lead.value + chance.between(-0.5, 0.5)));
      const released = first.release();
      const handle = await acquired;
      expect(await released).toBe("released");
      if (handle === null) {
        ends.refused++;
        lead.more();
        if (lead.value > giveUpMs) giveUpMs *= 2;
      } else {
        ends.granted++;
        lead.less();
        expect(handle.state).toBe("held");
        expect(await stage.operator.queue(path)).toEqual([
          { path: expect.any(String), czxid: handle.token, session: sessionOf(caller).sessionId },
        ]);
        expect(await handle.release()).toBe("released");
      }
      await expectFree(stage, path, holder, caller);
    }
    console.log(
      `called off by ${what} at the grant: ${JSON.stringify(ends)}, around ${lead.value.toFixed(1)} ms, seed ${chance.seed}`,
    );
  });

  it("on a free lock either holds or rejects, and leaves nothing behind", async () => {
    const chance = new Chance();
    const ends = { granted: 0, refused: 0 };
    const limit = new Balance(1, 0.3);
    const count = share(`free acquires called off by ${what}`, 16, 500);
    // A grant that is answered a moment after `waitMs` still counts, so only an abort is sure to come before it.
    const wished = atOnce ? "refused" : "granted";
    for (let i = 0; i < count || ends[wished] === 0; i++) {
      const { options, expectError } = begin(Math.max(0, limit.value + chance.between(-0.2, 0.2)));
      const handle = await handleOrApproved(caller.locks.mutex(path).acquire(options), expectError);
      if (handle === null) {
        ends.refused++;
        limit.more();
      } else {
        ends.granted++;
        limit.less();
        expect(handle.state).toBe("held");
        expect(await handle.release()).toBe("released");
      }
      await expectFree(stage, path, holder, caller);
    }
    console.log(`free acquire called off by ${what}: ${JSON.stringify(ends)}, seed ${chance.seed}`);
  });
});

describe("tryAcquire", () => {
  it("with waitMs is null while the lock is held, and with a signal rejects with its reason", async () => {
    const handle = await holder.locks.mutex(path).acquire();
    const mutex = caller.locks.mutex(path);
    expect(await mutex.tryAcquire()).toBeNull();
    // Without an answer within `waitMs` the call would report an outage, so this is longer than a busy machine stands still.
    expect(await mutex.tryAcquire({ waitMs: 2_000 })).toBeNull();
    await expect.poll(() => stage.operator.children(path)).toHaveLength(1);
    const { signal, reason } = abortAfter(20);
    await expect(mutex.tryAcquire({ waitMs: 10_000, signal })).rejects.toBe(reason);
    await expect.poll(() => stage.operator.children(path)).toHaveLength(1);
    await handle.release();
    await expectFree(stage, path, holder, caller);
  });
});
