import { systemRuntime } from "@holdfast/core";
import { beforeEach, describe, expect, it } from "vitest";
import { ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import { SessionContext } from "../../../src/recipes/session-context.js";
import { delivered, RecordedState } from "../support/recorded-attempt.js";
import { ScriptedSession, stat } from "../support/scripted-session.js";

const node = { path: "/l/own", name: "own", czxid: 7n };
let session: ScriptedSession;

function grant(endsWhenSuspended: boolean): ZooKeeperGrant {
  return new ZooKeeperGrant(new SessionContext(session, systemRuntime), {
    lockName: "l",
    data: new Uint8Array(0),
    nodes: [node],
    token: node.czxid,
    permitIds: [],
    roundTrips: 1,
    contended: false,
    revocable: false,
    endsWhenSuspended,
    watches: [],
  });
}

beforeEach(() => {
  session = new ScriptedSession();
});

describe("a hold that ends when contact breaks", () => {
  it("is lost at once, and its node is deleted before anything else when contact is back", () => {
    const hold = grant(true);
    const { heard } = delivered(hold);
    session.cut();
    expect(heard).toEqual(["lost suspended"]);
    expect(hold).toMatchObject({ over: true });
    expect(hold.validUntilMs()).toBe(0);
    session.mend();
    expect(session.sent.map(({ op, path }) => [op, path])).toEqual([["delete", node.path]]);
    session.answer(session.pending("delete"), undefined);
    expect(heard).toHaveLength(1);
  });

  it("is only in doubt as long as its caller does not have it", () => {
    const state = new RecordedState(false);
    const { heard } = state;
    grant(true).begin(state);
    session.cut();
    expect(heard).toEqual(["uncertain"]);
    session.mend();
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("exists"), { stat: stat(node.czxid, session.id) });
    expect(heard).toEqual(["uncertain", "recovered"]);
  });

  it("is only in doubt while the machine seems to have slept, and is lost if contact broke meanwhile", () => {
    const [kept, cut] = [grant(true), grant(true)];
    const [keptState, cutState] = [delivered(kept), delivered(cut)];
    session.asleep = true;
    session.become("suspended");
    expect([keptState.heard, cutState.heard]).toEqual([["uncertain"], ["uncertain"]]);
    expect(kept.sureUntilMs()).toBe(0);
    expect(kept.validUntilMs()).toBeGreaterThan(0);
    session.asleep = false;
    session.become("connected");
    kept.recover();
    expect(keptState.heard.at(-1)).toEqual("recovered");
    session.connection++;
    cut.recover();
    expect(cutState.heard.at(-1)).toEqual("lost suspended");
  });

  it("is lost as soon as contact breaks while the machine seems to have slept, on a later connection too", () => {
    const { context, parts } = grant(true);
    session.cut();
    session.mend();
    const { heard } = delivered(new ZooKeeperGrant(context, parts));
    session.asleep = true;
    session.become("suspended");
    session.cut();
    expect(heard).toEqual(["uncertain", "lost suspended"]);
  });

  it("is another than one that does not, which stays in doubt", () => {
    const { heard } = delivered(grant(false));
    session.cut();
    expect(heard).toEqual(["uncertain"]);
    session.mend();
    expect(session.has("delete")).toBe(false);
  });
});
