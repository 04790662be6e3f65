import { BackendError, LockLostError, type RetryPolicy, type Runtime, systemRuntime } from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { errorCodes, openAcl } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { LockPaths } from "../../../src/layout/lock-path.js";
import { announce } from "../../../src/recipes/grant/announce.js";
import { ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import { SessionContext } from "../../../src/recipes/session-context.js";
import { delivered } from "../support/recorded-attempt.js";
import { ScriptedSession, stat } from "../support/scripted-session.js";

const node = { path: "/e/_c_x-latch-0000000001", name: "_c_x-latch-0000000001", czxid: 7n };

let session: ScriptedSession;
let hold: ZooKeeperGrant;
let lost: string[];
let retry: RetryPolicy;

beforeEach(() => {
  session = new ScriptedSession();
  retry = { next: () => 0 };
  hold = new ZooKeeperGrant(new SessionContext(session, systemRuntime), {
    lockName: "e",
    data: new Uint8Array(0),
    nodes: [node],
    token: node.czxid,
    permitIds: [],
    roundTrips: 1,
    contended: false,
    revocable: false,
    watches: [],
  });
  lost = delivered(hold).heard;
});

function say(label: string, runtime: Runtime = systemRuntime): Promise<void> {
  const settings = {
    paths: new LockPaths({ chroot: "", namespace: "", root: "/holdfast" }),
    runtime,
    retry,
    aclOf: () => openAcl,
  };
  return announce(settings, hold, Buffer.from(label));
}

/** The text that the pending write would put into the node. */
async function written(): Promise<string> {
  await expect.poll(() => session.has("setData")).toBe(true);
  const { request } = session.pending("setData");
  return Buffer.from((request as { data: Uint8Array }).data).toString();
}

function answer(czxid = node.czxid, owner = session.id): void {
  session.answer(session.pending("setData"), { stat: stat(czxid, owner) });
}

describe("an announcement", () => {
  it("is one write into the own node", async () => {
    const said = say("green");
    expect(await written()).toBe("green");
    expect(session.sent.map(({ op, path }) => [op, path])).toEqual([["setData", node.path]]);
    answer();
    await said;
    expect(lost).toEqual([]);
  });

  it.each([
    ["is gone", () => session.noNode(session.pending("setData"))],
    ["is another", () => answer(8n)],
    ["is another session's", () => answer(node.czxid, 99n)],
  ])("that finds that the node %s ends the term, and is not made", async (_what, happens) => {
    const said = say("green");
    await written();
    happens();
    await expect(said).rejects.toThrow(LockLostError);
    expect(lost).toEqual(["lost stolen"]);
  });

  it("whose answer was lost is made again, and none that is older comes after it", async () => {
    const first = say("one");
    expect(await written()).toBe("one");
    const second = say("two");
    session.cut();
    session.mend();
    session.answer(session.pending("exists", node.name), { stat: stat(node.czxid, session.id) });
    expect(await written()).toBe("one");
    expect(session.sent.filter(({ op }) => op === "setData")).toHaveLength(1);
    answer();
    await first;
    expect(await written()).toBe("two");
    answer();
    await second;
  });

  it("is made after one that failed", async () => {
    const first = say("one");
    await written();
    session.refuse(session.pending("setData"), errorCodes.NoAuth);
    await expect(first).rejects.toThrow(BackendError);
    const second = say("two");
    expect(await written()).toBe("two");
    answer();
    await second;
  });

  it("to a server that is too busy is repeated as long as the policy says, and not longer", async () => {
    const patient = say("one");
    await written();
    session.refuse(session.pending("setData"), errorCodes.ThrottledOp);
    expect(await written()).toBe("one");
    answer();
    await patient;
    retry = { next: () => null };
    const hasty = say("two");
    await written();
    session.refuse(session.pending("setData"), errorCodes.ThrottledOp);
    await expect(hasty).rejects.toMatchObject({ code: "HF_BACKEND", retryable: true });
  });

  it("that waits for its next try leaves no timer behind when the session ends", async () => {
    const clock = simulatedRuntime(1);
    hold = new ZooKeeperGrant(new SessionContext(session, clock), hold.parts);
    delivered(hold);
    retry = { next: () => 60_000 };
    const timers = clock.pendingTimers;
    const said = say("one", clock);
    await written();
    session.refuse(session.pending("setData"), errorCodes.ThrottledOp);
    await expect.poll(() => clock.pendingTimers).toBe(timers + 1);
    session.lose("expired");
    await expect(said).rejects.toThrow(LockLostError);
    expect(clock.pendingTimers).toBe(timers);
  });

  it("of a term that has ended is refused without a request, and one under way ends with the session", async () => {
    const underWay = say("one");
    await written();
    session.lose("expired");
    await expect(underWay).rejects.toMatchObject({ code: "HF_LOCK_LOST", reason: "session-expired" });
    await expect(say("two")).rejects.toThrow(LockLostError);
    expect(session.sent).toEqual([]);
  });
});
