import { systemRuntime } from "@holdfast/core";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { revokeMessage } from "../../../src/layout/node-data.js";
import { type GrantParts, ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import { SessionContext } from "../../../src/recipes/session-context.js";
import { delivered, RecordedState } from "../support/recorded-attempt.js";
import { ScriptedSession, stat } from "../support/scripted-session.js";

const node = { path: "/l/own", name: "own", czxid: 7n };
let session: ScriptedSession;
const parts: Omit<GrantParts, "revocable"> = {
  lockName: "l",
  data: new Uint8Array(0),
  nodes: [node],
  token: node.czxid,
  permitIds: [],
  roundTrips: 1,
  contended: false,
  watches: [],
};
let hold: ZooKeeperGrant;
let state: RecordedState;
let heard: string[];

function make(others: Partial<GrantParts> = {}): void {
  session = new ScriptedSession();
  hold = new ZooKeeperGrant(new SessionContext(session, systemRuntime), {
    ...parts,
    revocable: false,
    ...others,
  });
}

function grant(revocable = false): void {
  make({ revocable });
  state = delivered(hold);
  heard = state.heard;
}

/** A grant that was not delivered to its caller yet. */
function grantUndelivered(): void {
  make();
  state = new RecordedState(false);
  heard = state.heard;
  hold.begin(state);
}
beforeEach(() => grant());

describe("a hold", () => {
  it("is good until the session's lease ends, also while its release is under way, and not at all once lost", async () => {
    expect(hold.validUntilMs()).toBe(session.leaseUntil);
    hold.lose("stolen");
    expect(hold.validUntilMs()).toBe(0);
    grant();
    const released = hold.release();
    expect(hold.validUntilMs()).toBe(session.leaseUntil);
    session.answer(session.pending("delete"), undefined);
    expect(await released).toBe(true);
  });

  it("reports that the release found nothing of ours", async () => {
    const released = hold.release();
    session.noNode(session.pending("delete"));
    expect(await released).toBe(false);
  });

  it("is lost with the session, for the session's reason", () => {
    session.lose("lease");
    expect(heard).toEqual(["lost lease-expired"]);
    grant();
    session.lose("expired");
    expect(heard).toEqual(["lost session-expired"]);
  });

  it.each([
    ["expired", "session-expired"],
    ["lease", "lease-expired"],
  ] as const)("whose session ends (%s) while its release is under way says so: %s", async (how, reason) => {
    const released = hold.release();
    session.lose(how);
    expect(await released).toBe(false);
    expect(heard).toEqual([`lost ${reason}`]);
  });

  it("is lost at once when its node is deleted, once its holder listens for the end", () => {
    hold.attend();
    session.answer(session.pending("getData"), { data: null, stat: stat(7n, session.id) });
    session.fire("own", "deleted");
    expect(heard).toEqual(["lost stolen"]);
  });

  it("whose node is gone leaves the nodes of its session behind all watches that fire for it", async () => {
    const { nodes } = hold.context;
    nodes.set(node.path, 0n);
    hold.attend();
    session.answer(session.pending("getData"), { data: null, stat: stat(7n, session.id) });
    session.fire("own", "deleted");
    expect(heard).toEqual(["lost stolen"]);
    expect(nodes.has(node.path)).toBe(true);
    await Promise.resolve();
    expect(nodes.has(node.path)).toBe(false);
  });

  it("is lost when the first look finds the node gone, or another's in its place", () => {
    hold.attend();
    session.noNode(session.pending("getData"));
    expect(heard).toEqual(["lost stolen"]);
    grant();
    hold.attend();
    session.answer(session.pending("getData"), { data: null, stat: stat(8n, session.id) });
    expect(heard).toEqual(["lost stolen"]);
  });

  it("that is given back costs no watch, and one that is held gets it within a quarter of a second and not at once", () => {
    const ticks: (() => void)[] = [];
    session = new ScriptedSession();
    const setTimer = (_delayMs: number, tick: () => void) => {
      ticks.push(tick);
      return () => {};
    };
    const context = new SessionContext(session, { ...systemRuntime, setTimer });
    const [short, long] = ["short", "long"].map((name) => {
      const made = new ZooKeeperGrant(context, {
        ...parts,
        nodes: [{ path: `/l/${name}`, name, czxid: 7n }],
        revocable: false,
      });
      delivered(made);
      return made;
    });
    expect(ticks).toHaveLength(1);
    ticks.shift()?.();
    expect(session.has("getData")).toBe(false);
    void short?.release();
    ticks.shift()?.();
    expect(session.has("getData", "short")).toBe(false);
    expect(session.has("getData", "long")).toBe(true);
    expect(ticks).toHaveLength(0);
    expect(long?.over).toBe(false);
  });

  it("looks by itself after a quarter of a second", async () => {
    await vi.waitFor(() => expect(session.has("getData", "own")).toBe(true), { timeout: 20_000 });
  });
});

describe("a grant whose caller does not have it yet, and whose node is reported gone", () => {
  beforeEach(() => {
    grantUndelivered();
    hold.attend();
    session.answer(session.pending("getData"), { data: null, stat: stat(7n, session.id) });
    session.fire("own", "deleted");
  });

  it("is in doubt, since the node may have gone with the session", () => {
    expect(heard).toEqual(["uncertain"]);
    session.lose("expired");
    expect(heard).toEqual(["uncertain", "lost session-expired"]);
  });

  it("is stolen once a sync and a look behind it have shown that the session lives without the node", async () => {
    const proven = hold.prove();
    session.answer(session.pending("sync"), { path: "/" });
    session.noNode(session.pending("exists"));
    expect(await proven).toBeNull();
    expect(heard).toEqual(["uncertain", "lost stolen"]);
  });

  it("is looked at again when the sync was not answered well, and is lost with its session", async () => {
    const proven = hold.prove();
    session.refuse(session.pending("sync"), errorCodes.SessionExpired);
    session.noNode(session.pending("exists"));
    expect(heard).toEqual(["uncertain"]);
    await expect.poll(() => session.has("sync")).toBe(true);
    session.refuse(session.pending("sync"), errorCodes.SessionExpired);
    session.noNode(session.pending("exists"));
    expect(heard).toEqual(["uncertain"]);
    session.lose("expired");
    expect(await proven).toBeNull();
    expect(heard).toEqual(["uncertain", "lost session-expired"]);
  });

  it("is looked at again when a busy server does not show its node, and fails when the server never will", async () => {
    const proven = hold.prove();
    session.answer(session.pending("sync"), { path: "/" });
    session.refuse(session.pending("exists"), errorCodes.ThrottledOp);
    await expect.poll(() => session.has("sync")).toBe(true);
    session.answer(session.pending("sync"), { path: "/" });
    session.refuse(session.pending("exists"), errorCodes.NoAuth);
    await expect(proven).rejects.toMatchObject({ code: "HF_BACKEND", retryable: false });
    expect(heard).toEqual(["uncertain"]);
  });

  it("is proven with the next connection when contact breaks", async () => {
    const proven = hold.prove();
    session.cut();
    session.mend();
    // Grants in doubt are looked at as well.
    for (const sync of session.sent.filter(({ op }) => op === "sync")) session.answer(sync, { path: "/" });
    for (const exists of [...session.sent]) session.noNode(exists);
    expect(await proven).toBeNull();
    expect(heard).toEqual(["uncertain", "lost stolen"]);
  });

  it("is in doubt by a listing that lacks its node, too", () => {
    grantUndelivered();
    hold.context.grants.reconcile("/l", { children: ["another"] });
    expect(heard).toEqual(["uncertain"]);
  });
});

describe("a hold over a broken connection", () => {
  const answerExists = (czxid: bigint, owner: bigint): void =>
    session.answer(session.pending("exists"), { stat: stat(czxid, owner) });
  const answerSync = (): void => session.answer(session.pending("sync"), { path: "/" });

  beforeEach(() => {
    session.cut();
    session.mend();
    heard.splice(0, 1);
  });

  it("is uncertain until sync and exists have shown the same node of the same session", () => {
    grant();
    session.cut();
    expect(heard).toEqual(["uncertain"]);
    session.mend();
    expect(session.sent.map((sent) => sent.op)).toEqual(["sync", "exists"]);
    answerSync();
    answerExists(7n, session.id);
    expect(heard).toEqual(["uncertain", "recovered"]);
  });

  it.each([
    ["another node", 8n, 0x10n],
    ["a node of another session", 7n, 0x11n],
  ])("is lost when %s stands there", (_what, czxid, owner) => {
    answerSync();
    answerExists(czxid, owner);
    expect(heard).toEqual(["lost stolen"]);
  });

  it("does not recover on an exists whose sync failed", () => {
    session.refuse(session.pending("sync"), -127);
    answerExists(7n, session.id);
    expect(heard).toEqual([]);
  });

  it("asks again when contact breaks once more", () => {
    session.cut();
    session.mend();
    answerSync();
    answerExists(7n, session.id);
    expect(heard).toEqual(["recovered"]);
  });

  it("confirms on demand by the same two requests", async () => {
    answerSync();
    answerExists(7n, session.id);
    const confirmed = hold.prove();
    answerSync();
    answerExists(7n, session.id);
    expect(await confirmed).toBe(session.leaseUntil);
    const failed = hold.prove();
    session.refuse(session.pending("sync"), -127);
    answerExists(7n, session.id);
    await expect(failed).rejects.toMatchObject({ code: "HF_BACKEND", retryable: true });
    const gone = hold.prove();
    answerSync();
    session.noNode(session.pending("exists"));
    expect(await gone).toBeNull();
  });
});

describe("a revocable hold", () => {
  const answerWatch = (data: Uint8Array | null): void =>
    session.answer(session.pending("getData"), { data, stat: stat(7n, session.id) });

  it("hears of a message written before its watch, and of one written after, once", () => {
    grant(true);
    answerWatch(revokeMessage);
    session.fire("own", "data-changed");
    answerWatch(revokeMessage);
    expect(heard).toEqual(["revoke-requested"]);
  });

  it("does not take other data for a request", () => {
    grant(true);
    answerWatch(Buffer.from("127.0.0.1"));
    expect(heard).toEqual([]);
  });

  it("is the only one that hears", () => {
    hold.attend();
    answerWatch(revokeMessage);
    expect(heard).toEqual([]);
  });
});

describe("the holds of a session", () => {
  it("hear of a loss from a listing that lacks their node, though no watch has fired", () => {
    const { grants } = hold.context;
    grants.reconcile("/other", { children: [] });
    grants.reconcile("/l", { children: [node.name, "another"] });
    expect(heard).toEqual([]);
    grants.reconcile("/l", { children: ["another"] });
    expect(heard).toEqual(["lost stolen"]);
  });
});

describe("a hold of several nodes", () => {
  const second = { path: "/l/second", name: "second", czxid: 8n };

  beforeEach(() => {
    make({ nodes: [node, second] });
    heard = delivered(hold).heard;
  });

  it("is lost when one of them is gone, and deletes the others", () => {
    hold.attend();
    for (const { path, czxid } of hold.nodes) {
      session.answer(session.pending("getData", path), { data: null, stat: stat(czxid, session.id) });
    }
    session.fire(second.path, "deleted");
    expect(heard).toEqual(["lost stolen"]);
    expect(session.has("delete", node.path)).toBe(true);
  });

  it("is confirmed only when all are there", async () => {
    const confirmed = hold.prove();
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("exists", node.path), { stat: stat(node.czxid, session.id) });
    session.noNode(session.pending("exists", second.path));
    expect(await confirmed).toBeNull();
  });

  it("is released when all are deleted", async () => {
    const released = hold.release();
    session.answer(session.pending("delete", node.path), undefined);
    session.noNode(session.pending("delete", second.path));
    expect(await released).toBe(false);
  });
});
