import type { KeepingState } from "@holdfast/core/driver";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import { SessionContext } from "../../../src/recipes/session-context.js";
import { ScriptedSession, stat } from "../support/scripted-session.js";

const node = { path: "/l/own", name: "own", czxid: 7n };

let clock: SimulatedRuntime;
let session: ScriptedSession;
let grant: ZooKeeperGrant;
let heard: string[];

beforeEach(() => {
  clock = simulatedRuntime(1);
  session = new ScriptedSession();
  heard = [];
  const context = new SessionContext(session, clock);
  grant = new ZooKeeperGrant(context, {
    ...{ lockName: "l", data: new Uint8Array(0), nodes: [node], token: 7n, permitIds: [], watches: [] },
    ...{ roundTrips: 1, contended: false, revocable: false, place: { at: "1:2", after: "1:0" } },
  });
  const state: KeepingState = {
    delivered: true,
    doubted: false,
    uncertain: () => heard.push("uncertain"),
    recovered: () => heard.push("recovered"),
    revokeRequested: () => heard.push("revoke"),
    lost: (reason) => heard.push(`lost ${reason}`),
    answered: () => heard.push("answered"),
    wanted: () => heard.push("wanted"),
  };
  grant.begin(state);
});

function answerOwn(written: { readonly data?: Uint8Array; readonly version?: number } = {}): void {
  const { data = null, version = 0 } = written;
  session.answer(session.pending("getData"), { data, stat: { ...stat(7n, session.id), version } });
}

function answerChildren(...children: string[]): void {
  session.answer(session.pending("getChildren2"), { children, stat: stat(1n, 0n) });
}

function refuse(op: "getData" | "getChildren2"): void {
  session.refuse(session.pending(op), errorCodes.NoAuth);
}

describe("a grant that is kept", () => {
  test("is lent once the own node and the children were read, in one write, and showed it alone", () => {
    expect(grant.keep()).toBe(true);
    expect(session.sent.map(({ op, watch }) => ({ op, watch }))).toEqual([
      { op: "getData", watch: true },
      { op: "getChildren2", watch: true },
    ]);
    expect(new Set(session.sent.map(({ write }) => write)).size).toBe(1);
    expect(grant.mayLend()).toBe("soon");
    answerOwn();
    expect(grant.mayLend()).toBe("soon");
    answerChildren("own");
    expect(grant.mayLend()).toBe("yes");
    expect(heard).toEqual(["answered"]);
  });

  test("is given back when it hears of a break while contact is there, as no later contact would delete it", () => {
    grant.keep();
    answerOwn();
    answerChildren("own");
    heard.length = 0;
    grant.doubt();
    expect(heard[0]).toBe("wanted");
    session.state = "suspended";
    heard.length = 0;
    grant.doubt();
    expect(heard).toEqual(["uncertain"]);
  });

  test("is not lent while more has arrived than was read", () => {
    grant.keep();
    answerOwn();
    answerChildren("own");
    session.behind = true;
    expect(grant.mayLend()).toBe("no");
  });

  test("has core ask again when both reads are answered, also while more has arrived than was read", () => {
    grant.keep();
    answerOwn();
    session.behind = true;
    answerChildren("own");
    expect(heard).toEqual(["answered"]);
    expect(grant.mayLend()).toBe("no");
  });

  test("reads its own node no second time where its holder has it watched", () => {
    grant.attend();
    answerOwn();
    expect(grant.keep()).toBe(true);
    expect(session.sent.map(({ op }) => op)).toEqual(["getChildren2"]);
    answerChildren("own");
    expect(grant.mayLend()).toBe("yes");
  });

  test("is not lent while its own node is not watched, also when the children were read", async () => {
    grant.keep();
    session.refuse(session.pending("getData"), errorCodes.ThrottledOp);
    answerChildren("own");
    expect(grant.mayLend()).toBe("soon");
    await clock.advance(250);
    answerOwn();
    expect(grant.mayLend()).toBe("yes");
    expect(heard).toEqual(["answered"]);
  });

  test.each([
    ["another child in the listing", () => answerChildren("own", "other")],
    ["a child instead of its own", () => answerChildren("other")],
    ["children that it must not list", () => refuse("getChildren2")],
  ])("takes %s for the wish of another client", (_sign, happens) => {
    grant.keep();
    answerOwn();
    happens();
    expect(heard).toEqual(["wanted"]);
  });

  test.each([
    ["data that another client has written", () => answerOwn({ version: 1 })],
    ["an own node that it must not read", () => refuse("getData")],
  ])("takes %s for the wish of another client", (_sign, happens) => {
    grant.keep();
    happens();
    expect(heard).toContain("wanted");
  });

  test.each([
    ["an event of the children", () => session.fire("/l", "children-changed")],
    ["a write to its node", () => session.fire("own", "data-changed")],
  ])("takes %s for the wish of another client", (_sign, happens) => {
    grant.keep();
    answerOwn();
    answerChildren("own");
    happens();
    expect(heard).toEqual(["answered", "wanted"]);
  });

  test("takes the end of a connection for no wish: the session says what that means for its grants", () => {
    grant.keep();
    session.cut();
    expect(heard).not.toContain("wanted");
  });

  test.each([
    ["the answer to its reads", () => {}, () => answerChildren("own", "other")],
    ["an event of the children", () => answerChildren("own"), () => session.fire("/l", "children-changed")],
  ])("hears nothing of %s once it is given back", (_news, before, happens) => {
    grant.keep();
    answerOwn();
    before();
    void grant.release();
    heard = [];
    happens();
    expect(heard).toEqual([]);
    expect(grant.mayLend()).toBe("no");
    expect(grant.keep()).toBe(false);
  });

  test("is no more when its node is deleted", () => {
    grant.keep();
    answerOwn();
    answerChildren("own");
    session.fire("own", "deleted");
    expect(heard).toEqual(["answered", "lost stolen"]);
    expect(grant.mayLend()).toBe("no");
  });

  test("is not lent on a session in doubt, nor over another connection", () => {
    grant.keep();
    answerOwn();
    answerChildren("own");
    session.leaseUntil = clock.nowMs();
    expect(grant.mayLend()).toBe("no");
    session.leaseUntil = Number.MAX_SAFE_INTEGER;
    expect(grant.mayLend()).toBe("yes");
    session.connection = 2;
    expect(grant.mayLend()).toBe("no");
  });

  test("asks an owner to let go who did not say so when it was granted: core knows which owner it is", () => {
    grant.keep();
    answerOwn();
    answerChildren("own");
    session.fire("own", "data-changed");
    answerOwn({ data: Buffer.from("__REVOKE__"), version: 1 });
    expect(heard.slice(0, 3)).toEqual(["answered", "wanted", "wanted"]);
    expect(heard.at(-1)).toBe("revoke");
  });
});

describe("a grant cannot be kept", () => {
  test("over another connection than that of its grant, nor on a session in doubt", () => {
    session.connection = 2;
    expect(grant.keep()).toBe(false);
    session.connection = 1;
    session.leaseUntil = clock.nowMs();
    expect(grant.keep()).toBe(false);
    expect(session.sent).toEqual([]);
  });

  test("once another client has written to its node, which a later owner must not hear of", () => {
    grant.attend();
    answerOwn({ data: Buffer.from("__REVOKE__"), version: 1 });
    expect(grant.keep()).toBe(false);
    expect(heard).toEqual([]);
  });
});
