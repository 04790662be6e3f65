import { expireSession } from "@holdfast/test-servers";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { share } from "../../support/share.js";
import { spread } from "../server/figures.js";
import { type Actor, expectNoHolds, Stage, sessionOf } from "../server/stage.js";
import { testLimitMs } from "../server/test-limit.js";

vi.setConfig({ testTimeout: testLimitMs });

let stage: Stage;
let actor: Actor;
let rival: Actor;
let path: string;

beforeAll(async () => {
  stage = await Stage.open();
  actor = await stage.actor();
  rival = await stage.actor();
});
afterAll(async () => {
  await stage.close();
});
beforeEach(async () => {
  path = await stage.path();
});

/** Acquires, checks the nodes at the server, and releases. */
async function holdAndRelease(): Promise<void> {
  const handle = await actor.locks.mutex(path).acquire({ waitMs: 10_000 });
  const queue = await stage.operator.queue(path);
  expect(queue).toEqual([
    { path: expect.any(String), czxid: handle.token, session: sessionOf(actor).sessionId },
  ]);
  expect(await rival.locks.mutex(path).tryAcquire()).toBeNull();
  expect(await handle.release()).toBe("released");
  expect(await stage.operator.children(path)).toEqual([]);
}

async function rounds(count: number, round: () => Promise<void>): Promise<void> {
  const tookMs: number[] = [];
  for (let i = 0; i < count; i++) {
    actor.proxy.reset();
    const before = performance.now();
    await round();
    tookMs.push(performance.now() - before);
    actor.proxy.clearRules();
  }
  expectNoHolds(actor, rival);
  console.log(`${expect.getState().currentTestName?.split(" > ").at(-1)}: ${spread(tookMs)}`);
}

describe("a lost frame", () => {
  it("reply of create: the node is found by its uuid and adopted, and there is no second one", async () => {
    await rounds(share("lost replies of create", 5, 100), async () => {
      const lost = actor.proxy.dropReply({ op: "create2", thenCut: true });
      const handle = await actor.locks.mutex(path).acquire({ waitMs: 10_000 });
      const [{ created } = { created: "" }] = lost.hits;
      expect(await stage.operator.queue(path)).toEqual([
        { path: created, czxid: handle.token, session: sessionOf(actor).sessionId },
      ]);
      expect(actor.proxy.trace.filter(({ kind, op }) => kind === "request" && op === "create2")).toHaveLength(
        1,
      );
      expect(await handle.release()).toBe("released");
      expect(await stage.operator.children(path)).toEqual([]);
    });
  });

  it("request of create: it is made once", async () => {
    await rounds(share("lost requests of create", 3, 50), async () => {
      const lost = actor.proxy.dropRequest({ op: "create2", thenCut: true });
      await holdAndRelease();
      expect(lost.hits).toHaveLength(1);
    });
  });

  it("reply of create, and the session expires meanwhile: a node of the new session is all there is", async () => {
    await rounds(share("lost replies of create with the session", 3, 50), async () => {
      const before = sessionOf(actor);
      const lost = actor.proxy.dropReply({ op: "create2", thenCut: true });
      const acquired = actor.locks.mutex(path).acquire({ waitMs: 10_000 });
      await lost.hit();
      await actor.proxy.setMode("refuse");
      await expireSession({ connectString: stage.server.connectString, ...before });
      await actor.proxy.setMode("ok");
      const handle = await acquired;
      const { sessionId } = sessionOf(actor);
      expect(sessionId).not.toBe(before.sessionId);
      expect(await stage.operator.queue(path)).toEqual([
        { path: expect.any(String), czxid: handle.token, session: sessionId },
      ]);
      expect(handle.state).toBe("held");
      expect(await handle.release()).toBe("released");
    });
  });

  it("reply of the listing behind the create: the node is kept and the lock held", async () => {
    await rounds(share("lost replies of the listing", 3, 50), async () => {
      const lost = actor.proxy.dropReply({ op: "getChildren2", thenCut: true });
      await holdAndRelease();
      expect(lost.hits).toHaveLength(1);
      expect(
        actor.proxy.trace.filter(({ kind, op, path: of }) => kind === "request" && op === "create2" && of),
      ).toHaveLength(1);
    });
  });

  it("request of the listing behind the create: the node is kept and the lock held", async () => {
    await rounds(share("lost requests of the listing", 3, 50), async () => {
      const lost = actor.proxy.dropRequest({ op: "getChildren2", thenCut: true });
      await holdAndRelease();
      expect(lost.hits).toHaveLength(1);
    });
  });

  it("reply of delete: the release is confirmed on the next connection, and no node is left", async () => {
    await rounds(share("lost replies of delete", 5, 100), async () => {
      const lost = actor.proxy.dropReply({ op: "delete", thenCut: true });
      await holdAndRelease();
      expect(lost.hits).toHaveLength(1);
      expect(actor.proxy.trace.filter(({ kind, op }) => kind === "request" && op === "delete")).toHaveLength(
        2,
      );
    });
  });

  it("request of delete: it is sent again, and no node is left", async () => {
    await rounds(share("lost requests of delete", 3, 50), async () => {
      const lost = actor.proxy.dropRequest({ op: "delete", thenCut: true });
      await holdAndRelease();
      expect(lost.hits).toHaveLength(1);
    });
  });

  it("request of delete, and then the caller stops waiting: the next acquire does not queue behind itself", async () => {
    await rounds(share("lost requests of delete, unconfirmed", 3, 50), async () => {
      const handle = await actor.locks.mutex(path).acquire({ waitMs: 10_000 });
      const lost = actor.proxy.dropRequest({ op: "delete", thenCut: true });
      const caller = new AbortController();
      const released = handle.release({ signal: caller.signal });
      await lost.hit();
      // The client has not noticed the cut yet, so its second delete cannot have been answered.
      caller.abort();
      expect(await released).toBe("unconfirmed");
      await holdAndRelease();
    });
  });
});
