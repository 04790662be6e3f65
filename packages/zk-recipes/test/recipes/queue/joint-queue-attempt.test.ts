import { EvictedError, InvalidArgumentError } from "@holdfast/core";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { mutexRule, type QueueRule, readRule, writeRule } from "../../../src/layout/queue-rules.js";
import type { ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import { checkDistinct, QueueAttempt, type QueueSpecs } from "../../../src/recipes/queue/queue-attempt.js";
import { RecordedAttempt } from "../support/recorded-attempt.js";
import {
  applyAll,
  nameOf,
  refuseAll,
  ScriptedSequence,
  stateOf,
  stepsOf,
} from "../support/scripted-sequence.js";
import { type ScriptedSession, stat } from "../support/scripted-session.js";

let scripted: ScriptedSequence;
let session: ScriptedSession;
let attempt: RecordedAttempt;

function ask(paths: Record<string, QueueRule>, mayWait = true): void {
  const parts = Object.entries(paths).map(([parent, rule]) => ({
    lockName: parent.slice(1),
    parent,
    rule,
    data: new Uint8Array(0),
    mayWait,
    revocable: false,
  }));
  const { context, settings } = scripted;
  attempt = new RecordedAttempt(
    (listener) => new QueueAttempt(context, settings, parts as unknown as QueueSpecs, listener),
  );
}

beforeEach(() => {
  scripted = new ScriptedSequence();
  session = scripted.session;
});

/** Applies the transaction. Answers each listing with the nodes that `ahead` names for its parent, and our node. */
function enter(ahead: Record<string, readonly string[]> = {}, zxid = 60n): string[] {
  const paths = applyAll(session, session.pending("multi"), zxid, 7);
  listAll(paths, ahead);
  return paths;
}

function listAll(paths: readonly string[], ahead: Record<string, readonly string[]> = {}): void {
  for (const path of paths) {
    const parent = path.slice(0, path.lastIndexOf("/"));
    const children = [...(ahead[parent] ?? []), nameOf(path)];
    session.answer(session.pending("getChildren2", parent), { children });
  }
}

async function holds(): Promise<readonly ZooKeeperGrant[]> {
  const state = await stateOf(attempt.grants);
  if (state === "open" || "error" in state || state.value === null) throw new Error("not granted");
  return state.value;
}

/** Answers the watch that a waiter sets on a path. */
function armed(path: string, czxid: bigint, owner: bigint): void {
  session.answer(session.pending("getData", nameOf(path)), { data: null, stat: stat(czxid, owner) });
}

const two = { "/a": mutexRule, "/b": mutexRule };

describe("several locks at once", () => {
  it("are queued for in one transaction, and granted after one round trip", async () => {
    ask({ "/a": mutexRule, "/b": writeRule, "/c": readRule });
    expect(session.sent.map(({ op, path }) => `${op} ${path}`)).toEqual([
      "multi ",
      "getChildren2 /a",
      "getChildren2 /b",
      "getChildren2 /c",
    ]);
    expect(new Set(session.sent.map(({ write }) => write)).size).toBe(1);
    const bases = stepsOf(session.pending("multi")).map(({ request }) => request.path.slice(-8));
    expect(bases.map((base) => base.replace(/^.*-/, ""))).toEqual(["", "__WRIT__", "__READ__"]);
    enter();
    expect(
      (await holds()).map(({ token, parts: { lockName }, roundTrips }) => ({ token, lockName, roundTrips })),
    ).toEqual([
      { token: 60n, lockName: "a", roundTrips: 1 },
      { token: 60n, lockName: "b", roundTrips: 1 },
      { token: 60n, lockName: "c", roundTrips: 1 },
    ]);
  });

  it("are not granted before the last turn has come", async () => {
    ask(two);
    const [a, b] = enter({ "/b": ["lock-0000000001"] }) as [string, string];
    expect(await stateOf(attempt.grants)).toBe("open");
    armed(a, 60n, session.id);
    armed(b, 60n, session.id);
    armed("lock-0000000001", 40n, 0x99n);
    session.fire("lock-0000000001", "deleted");
    expect(await holds()).toHaveLength(2);
    expect(attempt.heard).toEqual(["notified"]);
  });

  it("of which one was deleted by another client while the others are waited for, are all taken back", async () => {
    ask(two);
    const [a, b] = enter({ "/b": ["lock-0000000001"] }) as [string, string];
    armed(a, 60n, session.id);
    session.fire(nameOf(a), "deleted");
    session.answer(session.pending("sync"), undefined);
    session.noNode(session.pending("delete", a));
    expect(await stateOf(attempt.grants)).toBe("open");
    session.answer(session.pending("delete", b), undefined);
    await expect(attempt.grants).rejects.toThrow(EvictedError);
  });

  it("of which one was seen over an earlier connection are in doubt, and proven before the caller has any", async () => {
    ask(two);
    const [a, b] = enter({ "/b": ["lock-0000000001"] }) as [string, string];
    armed(a, 60n, session.id);
    armed(b, 60n, session.id);
    armed("lock-0000000001", 40n, 0x99n);
    session.cut();
    session.mend();
    session.fire("lock-0000000001", "deleted");
    session.answer(session.pending("getChildren2", "/b"), { children: [nameOf(b)] });
    expect(await stateOf(attempt.grants)).toBe("open");
    expect(attempt.states.map(({ doubted }) => doubted)).toEqual([true, true]);
    const proven = Promise.all(attempt.made.map((grant) => grant.prove()));
    session.answer(session.pending("sync"), undefined);
    session.noNode(session.pending("exists", a));
    session.answer(session.pending("sync"), undefined);
    session.answer(session.pending("exists", b), { stat: stat(60n, session.id) });
    expect(await proven).toEqual([null, session.leaseUntil]);
    expect(attempt.states.map(({ lossReason }) => lossReason)).toEqual(["stolen", null]);
  });

  it("are refused whole when one is held and the request may not wait", async () => {
    ask(two, false);
    const [a, b] = enter({ "/b": ["lock-0000000001"] }) as [string, string];
    session.answer(session.pending("delete", a), undefined);
    expect(await stateOf(attempt.grants)).toBe("open");
    session.answer(session.pending("delete", b), undefined);
    expect(await attempt.grants).toBeNull();
  });

  it("are never granted on a session in doubt", async () => {
    ask(two);
    session.leaseUntil = 0;
    const paths = enter();
    expect(await stateOf(attempt.grants)).toBe("open");
    session.leaseUntil = Number.MAX_SAFE_INTEGER;
    for (const _place of paths) session.answer(session.pending("sync"), { path: "/" });
    listAll(paths);
    // When the second listing came, the watch on the first node was not answered yet.
    expect(attempt.states.map(({ doubted }) => doubted)).toEqual([true, true]);
    expect(await stateOf(attempt.grants)).toBe("open");
  });

  it("of the same path twice are refused, under whatever names", () => {
    const part = { rule: mutexRule, data: new Uint8Array(0), mayWait: true, revocable: false, parent: "/a" };
    const parts: QueueSpecs = [
      { ...part, lockName: "a" },
      { ...part, lockName: "/a" },
    ];
    expect(() => checkDistinct(parts)).toThrow(InvalidArgumentError);
  });

  it("make all missing parents once and repeat the transaction behind them", async () => {
    ask({ "/x/a": mutexRule, "/x/b": mutexRule });
    const first = session.pending("multi");
    refuseAll(session, first, 1, errorCodes.NoNode);
    session.noNode(session.pending("getChildren2", "/x/a"));
    session.noNode(session.pending("getChildren2", "/x/b"));
    expect(session.sent.map(({ op, path }) => `${op} ${path}`)).toEqual([
      "createContainer /x",
      "createContainer /x/a",
      "createContainer /x/b",
      "multi ",
      "getChildren2 /x/a",
      "getChildren2 /x/b",
    ]);
    expect(stepsOf(session.pending("multi"))).toEqual(stepsOf(first));
    enter();
    expect(await holds()).toHaveLength(2);
  });

  it("name the lock that the server refused", async () => {
    ask(two);
    refuseAll(session, session.pending("multi"), 1, errorCodes.NoAuth);
    session.answer(session.pending("getChildren2", "/a"), { children: [] });
    session.answer(session.pending("getChildren2", "/b"), { children: [] });
    await expect(attempt.grants).rejects.toMatchObject({ lockName: "b", code: "HF_BACKEND" });
  });

  it("are queued for anew when their session ends", async () => {
    ask(two);
    enter({ "/b": ["lock-0000000001"] });
    session.lose("expired");
    expect(attempt.heard).toEqual(["session ended queued after 2"]);
    session = scripted.session;
    ask(two);
    enter();
    expect(await holds()).toHaveLength(2);
  });

  it("of which one is lost before the caller has any are all taken back", async () => {
    ask(two);
    const [a, b] = enter() as [string, string];
    attempt.made.find(({ backendId }) => backendId === a)?.lose("stolen");
    expect(attempt.states.map(({ lossReason }) => lossReason)).toEqual(["stolen", null]);
    expect(await stateOf(attempt.grants)).toBe("open");
    const withdrawn = attempt.withdraw();
    session.answer(session.pending("delete", b), undefined);
    await withdrawn;
  });
});

describe("a transaction without an answer", () => {
  function lose(): string[] {
    const paths = stepsOf(session.pending("multi")).map(({ request }) => `${request.path}0000000007`);
    session.cut();
    session.mend();
    session.answer(session.pending("sync"), undefined);
    return paths;
  }

  it("is looked up by its uuids on all paths, and its nodes are used", async () => {
    ask(two);
    const paths = lose();
    listAll(paths);
    for (const path of paths)
      session.answer(session.pending("exists", path), { stat: stat(60n, session.id) });
    listAll(paths);
    expect((await holds()).map(({ token }) => token)).toEqual([60n, 60n]);
  });

  it("is sent again when none of its nodes is there", async () => {
    ask(two);
    lose();
    session.answer(session.pending("getChildren2", "/a"), { children: [] });
    session.answer(session.pending("getChildren2", "/b"), { children: [] });
    enter();
    expect(await holds()).toHaveLength(2);
  });

  it("and withdrawn is taken back on all paths", async () => {
    ask(two);
    const withdrawn = attempt.withdraw();
    const paths = lose();
    listAll(paths);
    expect(await stateOf(withdrawn)).toBe("open");
    for (const path of paths) session.answer(session.pending("delete", path), undefined);
    await withdrawn;
    expect(await stateOf(attempt.grants)).toBe("open");
  });
});
