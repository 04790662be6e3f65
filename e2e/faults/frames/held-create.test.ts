import { BackendError } from "@holdfast/core";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { share } from "../../support/share.js";
import { type Actor, expectNoHolds, Stage } from "../server/stage.js";
import { testLimitMs } from "../server/test-limit.js";

vi.setConfig({ testTimeout: testLimitMs });

/** So long that a call which waits for its clean-up takes longer than one on a busy machine. */
const releaseTimeoutMs = 10_000;

let stage: Stage;
let actor: Actor;
let path: string;

beforeAll(async () => {
  stage = await Stage.open();
  actor = await stage.actor({ releaseTimeoutMs });
});
afterAll(async () => {
  await stage.close();
});
beforeEach(async () => {
  path = await stage.path();
});

async function rounds(what: string, round: () => Promise<void>): Promise<void> {
  const count = share(what, 3, 50);
  for (let i = 0; i < count; i++) {
    actor.proxy.reset();
    await round();
    actor.proxy.clearRules();
    await stage.empty(path);
    expectNoHolds(actor);
    const next = await actor.locks.mutex(path).acquire({ waitMs: 5_000 });
    expect(await next.release()).toBe("released");
  }
}

describe("an acquire whose create was applied and not answered yet", () => {
  it("when the caller aborts rejects with the caller's reason, and the node is deleted", async () => {
    await rounds("aborts while the answer to create is on its way", async () => {
      const held = actor.proxy.holdReply({ op: "create2" });
      const caller = new AbortController();
      const acquired = actor.locks.mutex(path).acquire({ signal: caller.signal });
      const reason = { why: "the caller has had enough" };
      const rejected = expect(acquired).rejects.toBe(reason);
      await held.hit();
      expect(await stage.operator.children(path)).toHaveLength(1);
      caller.abort(reason);
      held.release();
      await rejected;
    });
  });

  it("when waitMs passes rejects with BackendError, as no answer has come, and the node is deleted", async () => {
    await rounds("time-outs while the answer to create is on its way", async () => {
      const held = actor.proxy.holdReply({ op: "create2" });
      const before = performance.now();
      const acquired = actor.locks.mutex(path).acquire({ waitMs: 40 });
      const rejected = expect(acquired).rejects.toThrow(BackendError);
      await held.hit();
      expect(await stage.operator.children(path)).toHaveLength(1);
      await rejected;
      expect(performance.now() - before).toBeGreaterThanOrEqual(40);
      held.release();
    });
  });

  it("when the caller aborts and nothing comes rejects at once, and the node is deleted when something does", async () => {
    await rounds("aborts while the answer to create does not come", async () => {
      const held = actor.proxy.holdReply({ op: "create2" });
      const caller = new AbortController();
      const acquired = actor.locks.mutex(path).acquire({ signal: caller.signal });
      await held.hit();
      const before = performance.now();
      caller.abort();
      await expect(acquired).rejects.toBe(caller.signal.reason);
      expect(performance.now() - before).toBeLessThan(releaseTimeoutMs / 2);
      expect(await stage.operator.children(path)).toHaveLength(1);
      held.release();
    });
  });

  it("when the caller aborts and the link breaks rejects at once, and the node is looked up and deleted", async () => {
    await rounds("aborts with a broken link before the answer to create", async () => {
      const held = actor.proxy.holdReply({ op: "create2" });
      const caller = new AbortController();
      const acquired = actor.locks.mutex(path).acquire({ signal: caller.signal });
      await held.hit();
      caller.abort();
      const before = performance.now();
      actor.proxy.endAll();
      await expect(acquired).rejects.toBe(caller.signal.reason);
      expect(performance.now() - before).toBeLessThan(releaseTimeoutMs / 2);
    });
  });

  it("when the link breaks and the caller aborts then rejects, and the node is looked up and deleted", async () => {
    await rounds("aborts on a broken link with create unanswered", async () => {
      actor.proxy.dropReply({ op: "create2", thenCut: true });
      const caller = new AbortController();
      let heard: Disposable | undefined;
      const suspended = new Promise<void>((resolve) => {
        heard = actor.locks.events.on("session-state", ({ state }) => {
          if (state === "suspended") resolve();
        });
      });
      const acquired = actor.locks.mutex(path).acquire({ signal: caller.signal });
      const reason = new Error("the caller has had enough");
      const rejected = expect(acquired).rejects.toBe(reason);
      await suspended;
      caller.abort(reason);
      await rejected;
      heard?.[Symbol.dispose]();
    });
  });
});
