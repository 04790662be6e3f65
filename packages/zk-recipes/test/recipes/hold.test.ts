import { type GrantChange, systemRuntime } from "@holdfast/core";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { revokeMessage } from "../../src/layout/node-data.js";
import { Hold, type HoldParts } from "../../src/recipes/hold.js";
import { SessionDesk } from "../../src/recipes/session-desk.js";
import { ScriptedSession, stat } from "./scripted-session.js";

const node = { path: "/l/own", name: "own", czxid: 7n };
let session: ScriptedSession;
const parts: Omit<HoldParts, "grantedAtMs" | "revocable"> = {
  lockName: "l",
  data: new Uint8Array(0),
  nodes: [node],
  token: node.czxid,
  permitIds: [],
  roundTrips: 1,
  contended: false,
  watches: [],
};
let hold: Hold;
let heard: GrantChange[];

function grant(revocable = false): void {
  session = new ScriptedSession();
  heard = [];
  hold = new Hold(new SessionDesk(session, systemRuntime), {
    ...parts,
    grantedAtMs: systemRuntime.nowMs(),
    revocable,
  });
  hold.onState((change) => heard.push(change));
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

  it("tells that the release found nothing of ours", async () => {
    const released = hold.release();
    session.noNode(session.pending("delete"));
    expect(await released).toBe(false);
  });

  it("is lost with the session, for the session's reason", () => {
    session.lose("lease");
    expect(heard).toEqual([{ type: "lost", reason: "lease-expired" }]);
    grant();
    session.lose("expired");
    expect(heard).toEqual([{ type: "lost", reason: "session-expired" }]);
  });

  it("tells a listener that comes late what it missed", () => {
    session = new ScriptedSession();
    const late = new Hold(new SessionDesk(session, systemRuntime), {
      ...parts,
      grantedAtMs: 0,
      revocable: false,
    });
    session.lose("expired");
    late.onState((change) => heard.push(change));
    expect(heard).toEqual([{ type: "lost", reason: "session-expired" }]);
  });

  it("is lost at once when its node is deleted, once somebody looks", () => {
    hold.attend();
    session.answer(session.pending("getData"), { data: null, stat: stat(7n, session.id) });
    session.fire("own", "deleted");
    expect(heard).toEqual([{ type: "lost", reason: "stolen" }]);
  });

  it("is lost when the first look finds the node gone, or another's in its place", () => {
    hold.attend();
    session.noNode(session.pending("getData"));
    expect(heard).toEqual([{ type: "lost", reason: "stolen" }]);
    grant();
    hold.attend();
    session.answer(session.pending("getData"), { data: null, stat: stat(8n, session.id) });
    expect(heard).toEqual([{ type: "lost", reason: "stolen" }]);
  });

  it("looks by itself after a quarter of a second", async () => {
    await vi.waitFor(() => expect(session.has("getData", "own")).toBe(true), { timeout: 20_000 });
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
    expect(heard).toEqual([{ type: "uncertain" }]);
    session.mend();
    expect(session.sent.map((sent) => sent.op)).toEqual(["sync", "exists"]);
    answerSync();
    answerExists(7n, session.id);
    expect(heard).toEqual([{ type: "uncertain" }, { type: "recovered" }]);
  });

  it.each([
    ["another node", 8n, 0x10n],
    ["a node of another session", 7n, 0x11n],
  ])("is lost when %s stands there", (_what, czxid, owner) => {
    answerSync();
    answerExists(czxid, owner);
    expect(heard).toEqual([{ type: "lost", reason: "stolen" }]);
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
    expect(heard).toEqual([{ type: "recovered" }]);
  });

  it("confirms on demand by the same two requests", async () => {
    answerSync();
    answerExists(7n, session.id);
    const confirmed = hold.renew();
    answerSync();
    answerExists(7n, session.id);
    expect(await confirmed).toBe(session.leaseUntil);
    const failed = hold.renew();
    session.refuse(session.pending("sync"), -127);
    answerExists(7n, session.id);
    await expect(failed).rejects.toMatchObject({ code: "HF_BACKEND", retryable: true });
    const gone = hold.renew();
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
    expect(heard).toEqual([{ type: "revoke-requested" }]);
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
  it("hear of a loss from a listing that lacks their node, though no watch has told", () => {
    const { holds } = hold.desk;
    holds.heardOf("/other", []);
    holds.heardOf("/l", [node.name, "another"]);
    expect(heard).toEqual([]);
    holds.heardOf("/l", ["another"]);
    expect(heard).toEqual([{ type: "lost", reason: "stolen" }]);
  });
});

describe("a hold of several nodes", () => {
  const second = { path: "/l/second", name: "second", czxid: 8n };

  beforeEach(() => {
    session = new ScriptedSession();
    heard = [];
    hold = new Hold(new SessionDesk(session, systemRuntime), {
      ...parts,
      nodes: [node, second],
      grantedAtMs: 0,
      revocable: false,
    });
    hold.onState((change) => heard.push(change));
  });

  it("is lost when one of them is gone, and deletes the others", () => {
    hold.attend();
    for (const { path, czxid } of hold.nodes) {
      session.answer(session.pending("getData", path), { data: null, stat: stat(czxid, session.id) });
    }
    session.fire(second.path, "deleted");
    expect(heard).toEqual([{ type: "lost", reason: "stolen" }]);
    expect(session.has("delete", node.path)).toBe(true);
  });

  it("is confirmed only when all are there", async () => {
    const confirmed = hold.renew();
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
