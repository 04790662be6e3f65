import { type GrantChange, systemRuntime } from "@holdfast/core";
import { beforeEach, describe, expect, it } from "vitest";
import { Hold } from "../../src/recipes/hold.js";
import { SessionDesk } from "../../src/recipes/session-desk.js";
import { ScriptedSession, stat } from "./scripted-session.js";

const node = { path: "/l/own", name: "own", czxid: 7n };
let session: ScriptedSession;
let heard: GrantChange[];

function grant(endsWhenSuspended: boolean): Hold {
  return new Hold(new SessionDesk(session, systemRuntime), {
    lockName: "l",
    data: new Uint8Array(0),
    nodes: [node],
    token: node.czxid,
    permitIds: [],
    grantedAtMs: systemRuntime.nowMs(),
    roundTrips: 1,
    contended: false,
    revocable: false,
    endsWhenSuspended,
    watches: [],
  });
}

beforeEach(() => {
  session = new ScriptedSession();
  heard = [];
});

describe("a hold that ends when contact breaks", () => {
  it("is lost at once, and its node is deleted before anything else when contact is back", () => {
    const hold = grant(true);
    hold.onState((change) => heard.push(change));
    session.cut();
    expect(heard).toEqual([{ type: "lost", reason: "suspended" }]);
    expect(hold).toMatchObject({ over: true });
    expect(hold.validUntilMs()).toBe(0);
    session.mend();
    expect(session.sent.map(({ op, path }) => [op, path])).toEqual([["delete", node.path]]);
    session.answer(session.pending("delete"), undefined);
    expect(heard).toHaveLength(1);
  });

  it("is only in doubt as long as nobody was told that it is held", () => {
    const hold = grant(true);
    session.cut();
    hold.onState((change) => heard.push(change));
    expect(heard).toEqual([{ type: "uncertain" }]);
    session.mend();
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("exists"), { stat: stat(node.czxid, session.id) });
    expect(heard).toEqual([{ type: "uncertain" }, { type: "recovered" }]);
  });

  it("is only in doubt while the machine seems to have slept, and is lost if contact broke meanwhile", () => {
    const [kept, cut] = [grant(true), grant(true)];
    for (const hold of [kept, cut]) hold.onState((change) => heard.push(change));
    session.asleep = true;
    session.become("suspended");
    expect(heard).toEqual([{ type: "uncertain" }, { type: "uncertain" }]);
    expect(kept.sureUntilMs()).toBe(0);
    expect(kept.validUntilMs()).toBeGreaterThan(0);
    session.asleep = false;
    session.become("connected");
    kept.recover();
    expect(heard.at(-1)).toEqual({ type: "recovered" });
    session.connection++;
    cut.recover();
    expect(heard.at(-1)).toEqual({ type: "lost", reason: "suspended" });
  });

  it("is another than one that does not, which stays in doubt", () => {
    const hold = grant(false);
    hold.onState((change) => heard.push(change));
    session.cut();
    expect(heard).toEqual([{ type: "uncertain" }]);
    session.mend();
    expect(session.has("delete")).toBe(false);
  });
});
