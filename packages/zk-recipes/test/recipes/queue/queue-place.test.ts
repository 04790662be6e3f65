import { EvictedError, type HoldfastError, LayoutConflictError } from "@holdfast/core";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { errorCodes, type Stat } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { mutexRule } from "../../../src/layout/queue-rules.js";
import { ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import { QueuePlace } from "../../../src/recipes/queue/queue-place.js";
import { SessionContext } from "../../../src/recipes/session-context.js";
import { delivered } from "../support/recorded-attempt.js";
import { ScriptedSession, stat } from "../support/scripted-session.js";

const name = (n: number): string =>
  `_c_00000000-0000-4000-8000-${String(n).padStart(12, "0")}-lock-${String(n).padStart(10, "0")}`;
const other = 0x99n;

let clock: SimulatedRuntime;
let session: ScriptedSession;
let context: SessionContext;
let place: QueuePlace;
let heard: string[];
let failure: HoldfastError | null;

/** The waiter with number `own`, whose first listing shows `children`. `ours`: another node of its session. */
function queue(
  own: number,
  children: readonly string[],
  mayWait = true,
  watchesUnread = false,
  ours?: number,
): void {
  heard = [];
  failure = null;
  session = new ScriptedSession();
  clock = simulatedRuntime(1);
  context = new SessionContext(session, clock, watchesUnread);
  const node = { path: `/l/${name(own)}`, name: name(own), czxid: BigInt(100 + own) };
  context.nodes.set(node.path, 0n);
  if (ours !== undefined) context.nodes.set(`/l/${name(ours)}`, 0n);
  place = new QueuePlace(
    context,
    { lockName: "l", parent: "/l", rule: mutexRule, mayWait, keepAskMs: 50 },
    node,
    {
      granted: () => heard.push("granted"),
      unavailable: () => heard.push("unavailable"),
      failed: (error) => {
        heard.push("failed");
        failure = error;
      },
      waiting: () => {},
      notified: () => heard.push("notified"),
    },
  );
  place.listed({ ok: true, value: { children: [...children], stat: {} as Stat }, zxid: 1n });
}

function list(children: readonly string[]): void {
  session.answer(session.pending("getChildren2"), { children });
}

function answerOwnWatch(own: number): void {
  session.answer(session.pending("getData", name(own)), {
    data: null,
    stat: stat(BigInt(100 + own), session.id),
  });
}

function answerWatch(of: number, owner = other): void {
  session.answer(session.pending("getData", name(of)), { data: null, stat: stat(BigInt(100 + of), owner) });
}

describe("a contender", () => {
  it("holds at once when it is first, without another request", () => {
    queue(1, [name(1)]);
    expect(heard).toEqual(["granted"]);
    expect(session.sent).toEqual([]);
  });

  it("that may not wait is refused when the lock is taken, without a watch", () => {
    queue(2, [name(1), name(2)], false);
    expect(heard).toEqual(["unavailable"]);
    expect(session.sent).toEqual([]);
  });

  it("is not granted while the session is suspended, but by the first listing after that", () => {
    queue(2, [name(1), name(2)]);
    answerOwnWatch(2);
    answerWatch(1);
    session.fire(name(2), "data-changed");
    session.fire(name(1), "deleted");
    const listing = session.pending("getChildren2");
    session.become("suspended");
    session.answer(listing, { children: [name(2)] });
    expect(heard).toEqual(["notified"]);
    session.become("connected");
    list([name(2)]);
    expect(heard).toEqual(["notified", "granted"]);
  });

  it("watches its own node first, then the two ahead, in one write", () => {
    queue(3, [name(1), name(2), name(3)]);
    expect(session.sent.map((sent) => sent.path.slice(-1))).toEqual(["3", "2", "1"]);
    expect(new Set(session.sent.map((sent) => sent.write)).size).toBe(1);
  });
});

describe("a waiter that may not read the node ahead", () => {
  it("gives up with the advice to check auth and acl, instead of asking for ever", () => {
    queue(2, [name(1), name(2)]);
    answerOwnWatch(2);
    session.refuse(session.pending("getData", name(1)), errorCodes.NoAuth);
    expect(heard).toEqual(["failed"]);
    expect(failure).toMatchObject({ code: "HF_BACKEND", retryable: false });
    expect(failure?.message).toMatch(/NoAuth.*options auth and acl/);
    expect(session.has("getData")).toBe(false);
  });

  it("that leaves because its own listing shows a loss of its session watches and asks for nothing more", () => {
    queue(3, [name(1), name(2), name(3)]);
    answerOwnWatch(3);
    answerWatch(2);
    answerWatch(1, session.id);
    const held = new ZooKeeperGrant(context, {
      lockName: "l",
      data: new Uint8Array(0),
      nodes: [{ path: `/l/${name(1)}`, name: name(1), czxid: 101n }],
      token: 101n,
      roundTrips: 1,
      contended: false,
      place: undefined,
      revocable: false,
    });
    delivered(held).lost = () => place.leave();
    session.fire(name(1), "deleted");
    list([name(2), name(3)]);
    expect(held.over).toBe(true);
    expect(session.sent).toEqual([]);
    expect(session.watched(name(2))).toBe(false);
  });

  it("waits on without the node two ahead", () => {
    queue(3, [name(1), name(2), name(3)]);
    answerOwnWatch(3);
    answerWatch(2);
    session.refuse(session.pending("getData", name(1)), errorCodes.NoAuth);
    expect(heard).toEqual([]);
    expect(session.sent).toEqual([]);
    session.fire(name(2), "deleted");
    list([name(1), name(3)]);
    session.refuse(session.pending("getData", name(1)), errorCodes.NoAuth);
    expect(heard).toEqual(["notified", "failed"]);
  });
});

describe("a waiter that stands second", () => {
  beforeEach(() => queue(2, [name(1), name(2)]));

  it("holds when the holder's node goes, without a request", () => {
    answerOwnWatch(2);
    answerWatch(1);
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified", "granted"]);
    expect(session.sent).toEqual([]);
  });

  it("lists when its own watch has not been answered yet", () => {
    // Answers come in the order of the requests. So this happens only with a server that does not watch our own node at all.
    answerWatch(1);
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    expect(session.has("getChildren2")).toBe(true);
  });

  it("lists when a data change has used up its own watch and the new one is not answered", () => {
    answerOwnWatch(2);
    answerWatch(1);
    session.fire(name(2), "data-changed");
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    expect(session.has("getChildren2")).toBe(true);
  });

  it("trusts the event again once the own watch is armed anew", () => {
    answerOwnWatch(2);
    answerWatch(1);
    session.fire(name(2), "data-changed");
    answerOwnWatch(2);
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified", "granted"]);
  });

  it("lists when the holder's node belongs to its own session and no delete of ours is under way", () => {
    answerOwnWatch(2);
    answerWatch(1, session.id);
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    expect(session.has("getChildren2")).toBe(true);
  });

  it("waits for the answer to our own delete when the holder is of its own session", () => {
    answerOwnWatch(2);
    answerWatch(1, session.id);
    context.deletions.delete(`/l/${name(1)}`, () => heard.push("released"));
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    session.answer(session.pending("delete"), undefined);
    expect(heard).toEqual(["notified", "released", "granted"]);
    expect(session.sent).toEqual([]);
  });

  it("is never granted when the session ends while holder and waiter are both of it", () => {
    answerOwnWatch(2);
    answerWatch(1, session.id);
    context.deletions.delete(`/l/${name(1)}`, () => heard.push("released"));
    session.fire(name(1), "deleted");
    session.lose("expired");
    expect(heard).toEqual(["notified", "released"]);
  });

  it("lists when the listing that showed it second came over an earlier connection", () => {
    answerOwnWatch(2);
    answerWatch(1);
    session.cut();
    session.mend();
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    expect(session.has("getChildren2")).toBe(true);
  });

  it("lists when only the own watch has been answered over the present connection", () => {
    answerOwnWatch(2);
    answerWatch(1);
    session.cut();
    session.mend();
    session.fire(name(2), "data-changed");
    answerOwnWatch(2);
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    expect(session.has("getChildren2")).toBe(true);
  });

  it("lists when the holder's node of its own session was not there to be deleted", () => {
    answerOwnWatch(2);
    answerWatch(1, session.id);
    context.deletions.delete(`/l/${name(1)}`, () => heard.push("released"));
    session.fire(name(1), "deleted");
    session.noNode(session.pending("delete"));
    expect(heard).toEqual(["notified", "released"]);
    expect(session.has("getChildren2")).toBe(true);
  });

  it("lists when the session's lease is over", () => {
    answerOwnWatch(2);
    answerWatch(1);
    session.leaseUntil = 0;
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    expect(session.has("getChildren2")).toBe(true);
  });

  it("lists when the read of the holder's node found nothing, since the session of that node stays unknown", () => {
    answerOwnWatch(2);
    session.noNode(session.pending("getData", name(1)));
    expect(heard).toEqual(["notified"]);
    list([name(2)]);
    expect(heard).toEqual(["notified", "granted"]);
  });

  it("goes on watching after a message was written to the holder's node", () => {
    answerOwnWatch(2);
    answerWatch(1);
    session.fire(name(1), "data-changed");
    expect(heard).toEqual([]);
    answerWatch(1);
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified", "granted"]);
  });

  it("is granted and loses in one breath when one transaction deletes both nodes", () => {
    answerOwnWatch(2);
    answerWatch(1);
    // The event of our own node comes first, so the waiter is not granted.
    session.fire(name(2), "deleted");
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
  });
});

describe("a waiter further back", () => {
  beforeEach(() => {
    queue(3, [name(1), name(2), name(3)]);
    answerOwnWatch(3);
    answerWatch(2);
    answerWatch(1);
  });

  it("is not granted when the waiter ahead of it gives up while the holder stays", () => {
    session.fire(name(2), "deleted");
    expect(heard).toEqual(["notified"]);
    list([name(1), name(3)]);
    expect(heard).toEqual(["notified"]);
    expectWatchKept(1);
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified", "notified", "granted"]);
  });

  it("lists in the background when the holder goes, and then holds without a request", () => {
    session.fire(name(1), "deleted");
    expect(heard).toEqual([]);
    list([name(2), name(3)]);
    expect(session.sent).toEqual([]);
    session.fire(name(2), "deleted");
    expect(heard).toEqual(["notified", "granted"]);
    expect(session.sent).toEqual([]);
  });

  it("waits for the listing under way when its turn comes meanwhile", () => {
    session.fire(name(1), "deleted");
    session.fire(name(2), "deleted");
    expect(heard).toEqual(["notified"]);
    list([name(3)]);
    expect(heard).toEqual(["notified", "granted"]);
  });

  /** The watch on the holder was set when the holder was two places ahead. It is kept, so there is no request to answer. */
  function expectWatchKept(n: number): void {
    expect(session.watched(name(n))).toBe(true);
    expect(session.sent).toEqual([]);
  }
});

describe("a waiter behind a waiter of its own session", () => {
  const ahead = `/l/${name(2)}`;
  const queueBehind = (...others: string[]): void => {
    queue(3, [name(1), name(2), name(3), ...others], true, false, 2);
    answerOwnWatch(3);
    answerWatch(2, session.id);
  };
  const deleteAhead = (): void => {
    context.deletions.delete(ahead, () => heard.push("deleted"));
    session.fire(name(2), "deleted");
    session.answer(session.pending("delete"), undefined);
  };

  it("does not watch the node two ahead", () => {
    queueBehind();
    expect(session.watched(name(2))).toBe(true);
    expect(session.watched(name(1))).toBe(false);
    expect(session.sent).toEqual([]);
  });

  it("holds without a listing when that one has had its turn and is deleted", () => {
    queueBehind();
    context.turns.add(ahead);
    deleteAhead();
    expect(heard).toEqual(["notified", "deleted", "granted"]);
    expect(session.sent).toEqual([]);
    expect(context.turns).toEqual(new Set([`/l/${name(3)}`]));
  });

  it("lists when that one gave up before its turn, as the holder may still be there", () => {
    queueBehind();
    deleteAhead();
    expect(heard).toEqual(["notified", "deleted"]);
    list([name(1), name(3)]);
    expect(heard).toEqual(["notified", "deleted"]);
    answerWatch(1);
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified", "deleted", "notified", "granted"]);
  });

  it("lists on a path with a foreign child, also when that one has had its turn", () => {
    queueBehind("zzz");
    context.turns.add(ahead);
    deleteAhead();
    expect(heard).toEqual(["notified", "deleted"]);
    expect(session.has("getChildren2")).toBe(true);
  });
});

describe("a waiter that may watch nodes without reading them", () => {
  const answerWatches = (): void => session.answer(session.pending("setWatches"), undefined);
  const queueUnread = (own: number, ...others: number[]): void =>
    queue(own, [...others, own].map(name), true, true);

  it("watches its own node and the two ahead by one request, which shows what was written since its own was made", () => {
    queueUnread(3, 1, 2);
    expect(session.sent.map(({ op, request }) => ({ op, request }))).toEqual([
      {
        op: "setWatches",
        request: {
          relativeZxid: 103n,
          dataWatches: [3, 2, 1].map((n) => `/l/${name(n)}`),
          existWatches: [],
          childWatches: [],
        },
      },
    ]);
  });

  it("holds when the holder's node goes behind the answer, without a request", () => {
    queueUnread(2, 1);
    answerWatches();
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified", "granted"]);
    expect(session.sent).toEqual([]);
  });

  it("lists in the background when the holder goes, and then holds without a request", () => {
    queueUnread(3, 1, 2);
    answerWatches();
    session.fire(name(1), "deleted");
    list([name(2), name(3)]);
    session.fire(name(2), "deleted");
    expect(heard).toEqual(["notified", "granted"]);
    expect(session.sent).toEqual([]);
  });

  it("lists when the holder's node goes in front of the answer, since its own node is not watched yet", () => {
    queueUnread(2, 1);
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    answerWatches();
    expect(heard).toEqual(["notified"]);
    list([name(2)]);
    expect(heard).toEqual(["notified", "granted"]);
  });

  it("lists when the request has found the holder's node gone, though its own was watched before", () => {
    queueUnread(6, 4, 5);
    answerWatches();
    session.fire(name(4), "deleted");
    session.fire(name(5), "deleted");
    // Two other waiters stand ahead now. The answers come out of order, which no real server does.
    list([name(1), name(2), name(6)]);
    session.fire(name(1), "deleted");
    list([name(2), name(6)]);
    session.fire(name(2), "deleted");
    expect(heard).toEqual(["notified", "notified"]);
    expect(session.has("getChildren2")).toBe(true);
  });

  it("lists while the answer to another create of its session is lost, which may have made the holder's node", () => {
    queueUnread(2, 1);
    answerWatches();
    context.unknownCreates.add("another");
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    expect(session.has("getChildren2")).toBe(true);
  });

  it("waits for the answer to our own delete when the holder's node is one that its session made", () => {
    queueUnread(2, 1);
    answerWatches();
    context.nodes.set(`/l/${name(1)}`, 0n);
    context.deletions.delete(`/l/${name(1)}`, () => heard.push("released"));
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    session.answer(session.pending("delete"), undefined);
    expect(heard).toEqual(["notified", "released", "granted"]);
  });

  it("lists when a data change has used up its own watch and the new one is not answered", () => {
    queueUnread(2, 1);
    session.fire(name(2), "data-changed");
    answerWatches();
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    expect(session.has("getData", name(2))).toBe(true);
    expect(session.has("getChildren2")).toBe(true);
  });

  it("reads the node ahead after a second or two, and gives up where it may not, as it would never hear of its end", async () => {
    queueUnread(2, 1);
    answerWatches();
    await clock.advance(999);
    expect(session.sent).toEqual([]);
    await clock.advance(1_001);
    expect(session.sent.map(({ op, path }) => [op, path])).toEqual([["getData", `/l/${name(1)}`]]);
    session.refuse(session.pending("getData"), errorCodes.NoAuth);
    expect(heard).toEqual(["failed"]);
    expect(failure?.message).toMatch(/NoAuth.*options auth and acl/);
  });

  it("reads the node ahead also where the watches were answered later than that", async () => {
    queueUnread(2, 1);
    await clock.advance(2_100);
    answerWatches();
    expect(session.sent).toEqual([]);
    await clock.advance(2_000);
    expect(session.sent.map(({ op, path }) => [op, path])).toEqual([["getData", `/l/${name(1)}`]]);
    session.refuse(session.pending("getData"), errorCodes.NoAuth);
    expect(heard).toEqual(["failed"]);
  });

  it("is attended to no more once it was left while its watches are not answered", async () => {
    queueUnread(2, 1);
    const attendedLater = vi.spyOn(context.waits, "add");
    // Another wait may have ended this one within the same tick.
    place.leave();
    place.attend();
    expect(attendedLater).not.toHaveBeenCalled();
  });

  it("holds by the event behind that read too, unless the read shows that the holder is of its own session", async () => {
    for (const owner of [other, session.id]) {
      queueUnread(2, 1);
      answerWatches();
      await clock.advance(2_000);
      answerWatch(1, owner);
      session.fire(name(1), "deleted");
      expect(heard).toEqual(owner === other ? ["notified", "granted"] : ["notified"]);
    }
  });

  it("reads no node ahead of a place that is left or granted, nor one that its session made", async () => {
    queueUnread(2, 1);
    answerWatches();
    place.leave();
    await clock.advance(5_000);
    expect(session.sent).toEqual([]);
    queueUnread(2, 1);
    answerWatches();
    context.nodes.set(`/l/${name(1)}`, 0n);
    await clock.advance(5_000);
    expect(session.sent).toEqual([]);
  });

  it.each(["Unimplemented", "ThrottledOp"] as const)(
    "reads each of them where the server refuses that by %s, and waits on",
    (code) => {
      queueUnread(2, 1);
      session.refuse(session.pending("setWatches"), errorCodes[code]);
      answerOwnWatch(2);
      answerWatch(1);
      session.fire(name(1), "deleted");
      expect(heard).toEqual(["notified", "granted"]);
    },
  );

  it("reads each of them anew after contact broke in front of the answer", () => {
    queueUnread(2, 1);
    session.cut();
    session.mend();
    answerOwnWatch(2);
    session.noNode(session.pending("getData", name(1)));
    list([name(2)]);
    expect(heard).toEqual(["notified", "granted"]);
  });
});

describe("a waiter whose own node is gone", () => {
  beforeEach(() => {
    queue(2, [name(1), name(2)]);
    answerOwnWatch(2);
    answerWatch(1);
    session.fire(name(2), "deleted");
  });

  it("was evicted, if the session lives", () => {
    session.answer(session.pending("sync"), { path: "/" });
    expect(failure).toBeInstanceOf(EvictedError);
    expect(failure?.message).toContain(name(2));
  });

  it("was not, if the session is over: its end is the session's", () => {
    session.lose("expired");
    expect(heard).toEqual([]);
  });
});

describe("what would break exclusion", () => {
  it.each([
    ["a foreign child that sorts before", [name(1), name(2), "-abc"], "-abc"],
    ["a read-write lock's node", [name(1), name(2), "_c_x-__WRIT__0000000007"], "read-write-lock"],
    ["a semaphore's folder", [name(1), name(2), "leases"], "semaphore"],
    ["a kazoo lock's node", [name(1), name(2), `${"0".repeat(32)}__lock__0000000003`], "kazoo"],
  ])("is refused by name: %s", (_what, children, said) => {
    queue(2, children);
    expect(failure).toBeInstanceOf(LayoutConflictError);
    expect(failure?.message).toContain(said);
  });

  it("is refused to the first in the queue too when another kind of lock uses the path", () => {
    queue(1, [name(1), "_c_x-__READ__0000000009"]);
    expect(failure).toBeInstanceOf(LayoutConflictError);
  });

  it("leaves a foreign child that sorts behind alone, but trusts no event on such a path", () => {
    queue(2, [name(1), name(2), "zzz"]);
    answerOwnWatch(2);
    answerWatch(1);
    session.fire(name(1), "deleted");
    expect(heard).toEqual(["notified"]);
    list([name(2), "zzz"]);
    expect(heard).toEqual(["notified", "granted"]);
  });
});

describe("a request that may not wait", () => {
  const kept = name(0).replace("-8000-", "-e000-");

  it("is refused at once behind a node that is held", () => {
    queue(1, [name(0), name(1)], false);
    expect(heard).toEqual(["unavailable"]);
    expect(session.sent).toEqual([]);
  });

  it("stays behind a node that may be kept, and is granted when that goes", () => {
    queue(1, [kept, name(1)], false);
    expect(heard).toEqual([]);
    answerOwnWatch(1);
    session.answer(session.pending("getData", kept), { data: null, stat: stat(100n, other) });
    session.fire(kept, "deleted");
    expect(heard).toEqual(["notified", "granted"]);
  });

  it("is refused when the node that may be kept is still there after keepAskMs", async () => {
    queue(1, [kept, name(1)], false);
    await clock.advance(49);
    expect(heard).toEqual([]);
    await clock.advance(1);
    expect(heard).toEqual(["unavailable"]);
    await clock.advance(1_000);
    expect(heard).toEqual(["unavailable"]);
  });

  it("is refused at once where another client stands between, who will get the lock", () => {
    queue(2, [kept, name(1).replace("-8000-", "-e000-"), name(2)], false);
    expect(heard).toEqual(["unavailable"]);
  });
});
