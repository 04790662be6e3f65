import { EvictedError } from "@holdfast/core";
import { expireSession } from "@holdfast/test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { share } from "../../support/share.js";
import { type Actor, expectNoHolds, Stage, sessionOf } from "./stage.js";
import { testLimitMs } from "./test-limit.js";

vi.setConfig({ testTimeout: testLimitMs });

let stage: Stage;
let holder: Actor;
let waiter: Actor;
let third: Actor;
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
  [holder, waiter, third] = [await stage.actor(), await stage.actor(), await stage.actor()];
});
afterEach(async () => {
  await stage.empty(path);
  expectNoHolds(holder, waiter, third);
});

async function rounds(what: string, part: number, full: number, round: () => Promise<void>): Promise<void> {
  const count = share(what, part, full);
  for (let i = 0; i < count; i++) {
    for (const { proxy } of [holder, waiter, third]) {
      proxy.clearRules();
      proxy.reset();
    }
    await round();
    await stage.empty(path);
  }
}

/** Lets the client handle everything that has arrived, and rejects if `promise` is fulfilled then. */
async function expectNotGranted(promise: Promise<unknown>): Promise<void> {
  let granted = false;
  promise.then(
    () => {
      granted = true;
    },
    () => {},
  );
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(granted).toBe(false);
}

describe("a waiter whose predecessor merely gave up", () => {
  it("is not granted while the holder stays", async () => {
    await rounds("predecessors that give up", 5, 100, async () => {
      const handle = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      const caller = new AbortController();
      const gaveUp = waiter.locks.mutex(path).acquire({ signal: caller.signal });
      await stage.queued(waiter, path);
      const last = third.locks.mutex(path).acquire({ waitMs: 10_000 });
      await stage.queued(third, path);
      const seen = third.proxy.trace.length;
      const reason = new Error("the waiter has had enough");
      const aborted = expect(gaveUp).rejects.toBe(reason);
      caller.abort(reason);
      await aborted;
      // The third client has got its event and has listed the queue. From here on nothing more will come.
      await third.proxy.waitFor(
        (entry) =>
          entry.kind === "reply" && entry.op === "getChildren2" && third.proxy.trace.indexOf(entry) >= seen,
        { what: "the listing upon the event" },
      );
      await expectNotGranted(last);
      expect(handle.state).toBe("held");
      expect(await handle.release()).toBe("released");
      const granted = await last;
      expect(await granted.release()).toBe("released");
    });
  });
});

describe("an event about the holder's node is not trusted by a waiter", () => {
  it("whose own watch was used up by a data change, while its own node goes", async () => {
    await rounds("own watches used up", 5, 100, async () => {
      const handle = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      const evicted = waiter.locks.mutex(path).acquire({ waitMs: 10_000 });
      const rejected = expect(evicted).rejects.toThrow(EvictedError);
      await stage.queued(waiter, path);
      const last = third.locks.mutex(path).acquire({ waitMs: 10_000 });
      await stage.queued(third, path);
      const own = (await stage.operator.queue(path))[1]?.path as string;
      // The request for the new watch is held back. So the server now has no watch of the waiter on the waiter's own node.
      const rearm = waiter.proxy.holdRequest({ op: "getData", path: own });
      await stage.operator.write(own, "looked at by an operator");
      await rearm.hit();
      await stage.operator.delete(own);
      expect(await handle.release()).toBe("released");
      await waiter.proxy.waitFor(({ kind, event }) => kind === "event" && event === "deleted");
      const granted = await last;
      await expectNotGranted(evicted);
      rearm.release();
      await rejected;
      expect(granted.state).toBe("held");
      expect(await granted.release()).toBe("released");
    });
  });

  it("whose own watch is armed anew in time, and is then trusted again", async () => {
    await rounds("own watches armed anew", 3, 50, async () => {
      const handle = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      const next = waiter.locks.mutex(path).acquire({ waitMs: 10_000 });
      await stage.queued(waiter, path);
      const own = (await stage.operator.queue(path))[1]?.path as string;
      waiter.proxy.reset();
      await stage.operator.write(own, "looked at by an operator");
      await waiter.proxy.waitFor(({ kind, op }) => kind === "reply" && op === "getData");
      await expectNotGranted(next);
      waiter.proxy.reset();
      expect(await handle.release()).toBe("released");
      const granted = await next;
      expect(waiter.proxy.counts().requests).toBe(0);
      expect(await granted.release()).toBe("released");
    });
  });

  it("whose own node went before its own watch was there", async () => {
    await rounds("own nodes gone before their watch", 5, 100, async () => {
      const handle = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      const arm = waiter.proxy.holdRequest({ op: "setWatches" });
      const evicted = waiter.locks.mutex(path).acquire({ waitMs: 10_000 });
      const rejected = expect(evicted).rejects.toThrow(EvictedError);
      await arm.hit();
      const last = third.locks.mutex(path).acquire({ waitMs: 10_000 });
      await stage.queued(third, path);
      const own = (await stage.operator.queue(path))[1]?.path as string;
      await stage.operator.delete(own);
      const released = handle.release();
      const granted = await last;
      arm.release();
      await rejected;
      expect(await released).toBe("released");
      expect(granted.state).toBe("held");
      expect(await granted.release()).toBe("released");
    });
  });

  it("whose own watch has not been answered, though the server lets the event overtake", async () => {
    await rounds("answers behind events", 3, 50, async () => {
      const handle = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      const own = waiter.proxy.holdReply({ op: "setWatches", alone: true });
      const next = waiter.locks.mutex(path).acquire({ waitMs: 10_000 });
      await own.hit();
      const listing = waiter.proxy.holdRequest({ op: "getChildren2" });
      expect(await handle.release()).toBe("released");
      await listing.hit();
      await expectNotGranted(next);
      own.release();
      listing.release();
      const granted = await next;
      expect(await stage.operator.queue(path)).toEqual([
        { path: expect.any(String), czxid: granted.token, session: sessionOf(waiter).sessionId },
      ]);
      expect(await granted.release()).toBe("released");
    });
  });

  it("of its own session, until the answer to our own delete has come", async () => {
    await rounds("hand-offs in one session", 5, 100, async () => {
      const handle = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      const next = holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      await stage.queued(holder, path);
      const answer = holder.proxy.holdReply({ op: "delete" });
      const released = handle.release();
      await answer.hit();
      const event = holder.proxy.trace.find(
        ({ kind, event: type }) => kind === "event" && type === "deleted",
      );
      expect(event?.fate).toBe("forwarded");
      await expectNotGranted(next);
      answer.release();
      expect(await released).toBe("released");
      expect(await (await next).release()).toBe("released");
    });
  });

  it("of its own session that ends before the answer to our own delete has come", async () => {
    const requeued: string[] = [];
    holder.locks.events.on("requeued", ({ reason }) => requeued.push(reason));
    await rounds("hand-offs in one session that ends", 5, 100, async () => {
      requeued.length = 0;
      const handle = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      const next = holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      await stage.queued(holder, path);
      const dead = sessionOf(holder);
      const nodes = await stage.operator.queue(path);
      const answer = holder.proxy.holdReply({ op: "delete" });
      const released = handle.release();
      await answer.hit();
      await expireSession({ connectString: stage.server.connectString, ...dead });
      await expectNotGranted(next);
      holder.proxy.endAll();
      expect(["lost", "released"]).toContain(await released);
      const granted = await next;
      expect(requeued).toEqual(["session-lost"]);
      expect(nodes.map(({ czxid }) => czxid)).not.toContain(granted.token);
      expect(sessionOf(holder).sessionId).not.toBe(dead.sessionId);
      expect(await granted.release()).toBe("released");
    });
  });
});
