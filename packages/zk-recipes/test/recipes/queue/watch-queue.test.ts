import { systemRuntime } from "@holdfast/core";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { watchQueue } from "../../../src/recipes/queue/watch-queue.js";
import { SessionSequence } from "../../../src/recipes/session-sequence.js";
import { ScriptedSession, stat } from "../support/scripted-session.js";

const latch = (sequence: number): string =>
  `_c_00000000-0000-4000-8000-00000000000${sequence}-latch-000000000${sequence}`;

let sessions: ScriptedSession[];
let sequence: SessionSequence;
let calls: number;
let stop: () => void;

beforeEach(() => {
  sessions = [];
  sequence = new SessionSequence({
    runtime: systemRuntime,
    connectTimeoutMs: 1_000,
    renewable: true,
    watchesUnread: false,
    open: () => {
      const session = new ScriptedSession();
      session.id = BigInt(sessions.length + 1);
      if (sessions.length > 0) session.state = "connecting";
      sessions.push(session);
      return session;
    },
    onState: () => {},
  });
  calls = 0;
  stop = watchQueue(sequence, "/e", () => calls++);
});

const session = (): ScriptedSession => sessions.at(-1) as ScriptedSession;

function listed(...children: string[]): void {
  session().answer(session().pending("getChildren2"), { children, stat: stat(1n, 0n) });
}

function headRead(): void {
  session().answer(session().pending("getData"), { data: null, stat: stat(2n, 5n) });
}

const open = (): string[] =>
  session().sent.map(({ op, path, watch }) => `${op} ${path}${watch ? " watched" : ""}`);

describe("a watcher of a queue", () => {
  it("is called once the children and the first of them are watched, and has no other watch", () => {
    expect(open()).toEqual(["getChildren2 /e watched"]);
    listed(latch(2), latch(1), latch(3));
    expect(calls).toBe(0);
    expect(open()).toEqual([`getData /e/${latch(1)} watched`]);
    headRead();
    expect(calls).toBe(1);
    expect(open()).toEqual([]);
  });

  it("is called for a change among the children once they are watched again; the head is not read anew", () => {
    listed(latch(1));
    headRead();
    session().fire("/e", "children-changed");
    expect(calls).toBe(1);
    listed(latch(1), latch(2));
    expect(calls).toBe(2);
    expect(open()).toEqual([]);
  });

  it("is called for other data in the head once that is watched again", () => {
    listed(latch(1));
    headRead();
    session().fire(latch(1), "data-changed");
    expect(calls).toBe(1);
    headRead();
    expect(calls).toBe(2);
  });

  it("watches the next head when the first one goes", () => {
    listed(latch(1), latch(2));
    headRead();
    session().fire(latch(1), "deleted");
    session().fire("/e", "children-changed");
    listed(latch(2));
    expect(open()).toEqual([`getData /e/${latch(2)} watched`]);
    headRead();
    expect(calls).toBe(2);
  });

  it("is called for a head that went before it could be watched, and hears of the next by the children", () => {
    listed(latch(1), latch(2));
    session().noNode(session().pending("getData"));
    expect(calls).toBe(1);
    session().fire("/e", "children-changed");
    listed(latch(2));
    headRead();
    expect(calls).toBe(2);
  });

  it("waits for a path that is not there, and for one that has gone", () => {
    session().noNode(session().pending("getChildren2"));
    expect(open()).toEqual(["exists /e watched"]);
    session().answer(session().pending("exists"), null);
    expect(calls).toBe(1);
    session().fire("/e", "created");
    listed();
    expect(calls).toBe(2);
    session().fire("/e", "deleted");
    session().noNode(session().pending("getChildren2"));
    session().answer(session().pending("exists"), null);
    expect(calls).toBe(3);
  });

  it("looks again at a path that was made between the two requests", () => {
    session().noNode(session().pending("getChildren2"));
    session().answer(session().pending("exists"), { stat: stat(1n, 0n) });
    listed(latch(1));
    headRead();
    expect(calls).toBe(1);
  });

  it("begins anew when an answer was lost with the connection", () => {
    listed(latch(1));
    session().cut();
    session().mend();
    expect(open()).toEqual(["getChildren2 /e watched"]);
    listed(latch(1));
    headRead();
    expect(calls).toBe(1);
  });

  it("begins anew on the next session, and is called because something may have changed", () => {
    listed(latch(1));
    headRead();
    sessions[0]?.lose("expired");
    expect(calls).toBe(2);
    expect(open()).toEqual([]);
    session().mend();
    listed(latch(1));
    headRead();
    expect(calls).toBe(3);
  });

  it("is called when the server refuses for good, so that it looks and learns why", () => {
    session().refuse(session().pending("getChildren2"), errorCodes.NoAuth);
    expect(calls).toBe(1);
    expect(open()).toEqual([]);
  });

  it("asks a server that is too busy again", async () => {
    session().refuse(session().pending("getChildren2"), errorCodes.ThrottledOp);
    expect(calls).toBe(0);
    await expect.poll(() => session().has("getChildren2")).toBe(true);
  });

  it("hears nothing more once it has stopped, on this session and the next", () => {
    listed(latch(1));
    headRead();
    stop();
    session().fire("/e", "children-changed");
    session().fire(latch(1), "data-changed");
    expect(open()).toEqual([]);
    sessions[0]?.lose("expired");
    session().mend();
    expect(open()).toEqual([]);
    expect(calls).toBe(1);
  });
});
