import { systemRuntime } from "@holdfast/core";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Deletions } from "../../../src/recipes/session/deletions.js";
import { ScriptedSession } from "../support/scripted-session.js";

let session: ScriptedSession;
let deletions: Deletions;
let nodes: Set<string>;
let heard: string[];

beforeEach(() => {
  session = new ScriptedSession();
  nodes = new Set();
  deletions = new Deletions(session, systemRuntime, (path) => nodes.delete(path));
  heard = [];
});

const remove = (path: string): void =>
  deletions.delete(path, (outcome, error) => heard.push(error === null ? outcome : error.name));

describe("a delete", () => {
  it("reports that the node was gone before it came", () => {
    remove("/l/a");
    session.noNode(session.pending("delete"));
    expect(heard).toEqual(["gone"]);
  });

  it("whose answer was lost is repeated, and counts a missing node as its own work", () => {
    remove("/l/a");
    session.cut();
    session.mend();
    session.noNode(session.pending("delete"));
    expect(heard).toEqual(["deleted"]);
  });

  it("waits for the connection, and is sent before anything else that does", () => {
    const order: string[] = [];
    session.cut();
    session.onState((state) => {
      if (state === "connected") order.push(...session.sent.map((sent) => sent.path));
    });
    remove("/l/a");
    session.mend();
    expect(order).toEqual(["/l/a"]);
  });

  it("ends with the session", () => {
    remove("/l/a");
    session.cut();
    session.lose("lease");
    expect(heard).toEqual(["session-over"]);
  });

  it("asked for twice is one request with two answers", () => {
    remove("/l/a");
    remove("/l/a");
    expect(session.sent).toHaveLength(1);
    session.answer(session.pending("delete"), undefined);
    expect(heard).toEqual(["deleted", "deleted"]);
  });

  it("reports what the server refuses, and the node stays among those of its session", () => {
    nodes.add("/l/a").add("/l/b");
    remove("/l/a");
    session.refuse(session.pending("delete"), errorCodes.NoAuth);
    expect(heard).toEqual(["ZooKeeperError"]);
    remove("/l/b");
    session.answer(session.pending("delete"), undefined);
    expect([...nodes]).toEqual(["/l/a"]);
  });

  it("whose answer is still to come is not sent again when contact comes back on the same connection", () => {
    remove("/l/a");
    session.become("suspended");
    session.become("connected");
    expect(session.sent).toHaveLength(1);
    session.answer(session.pending("delete"), undefined);
    expect(heard).toEqual(["deleted"]);
  });

  it("that found no connection is sent with the next", () => {
    session.cut();
    remove("/l/a");
    expect(session.sent).toEqual([]);
    session.mend();
    session.answer(session.pending("delete"), undefined);
    expect(heard).toEqual(["deleted"]);
  });

  it("of a node whose name others use is not given up by a look that the server refuses", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const ended = (outcome: string): number => heard.push(outcome);
    deletions.delete("/n", ended, { czxid: 1n, watched: false });
    session.answer(session.pending("sync"), { path: "/n" });
    session.refuse(session.pending("exists"), errorCodes.SystemError);
    vi.advanceTimersByTime(250);
    session.answer(session.pending("sync"), { path: "/n" });
    session.answer(session.pending("exists"), { stat: { czxid: 1n } });
    session.answer(session.pending("delete"), undefined);
    expect(heard).toEqual(["deleted"]);
  });

  it("of a node whose name others use looks at it ever less often where the server does not let us look", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    deletions.delete("/n", (outcome) => heard.push(outcome), { czxid: 1n, watched: false });
    const refused = (): void => {
      session.answer(session.pending("sync"), { path: "/n" });
      session.refuse(session.pending("exists"), errorCodes.NoAuth);
    };
    refused();
    vi.advanceTimersByTime(250);
    refused();
    vi.advanceTimersByTime(250);
    expect(session.has("exists")).toBe(false);
    vi.advanceTimersByTime(250);
    session.answer(session.pending("sync"), { path: "/n" });
    session.answer(session.pending("exists"), { stat: { czxid: 1n } });
    session.answer(session.pending("delete"), undefined);
    expect(heard).toEqual(["deleted"]);
  });

  it("of the next node of a name is a request of its own", () => {
    const removeNode = (czxid: bigint): void =>
      deletions.delete("/n", (outcome) => heard.push(`${czxid} ${outcome}`), {
        czxid,
        watched: true,
      });
    removeNode(1n);
    removeNode(2n);
    removeNode(2n);
    expect(session.sent).toHaveLength(2);
    session.answer(session.pending("delete"), undefined);
    expect(heard).toEqual(["1 deleted"]);
    session.answer(session.pending("delete"), undefined);
    expect(heard).toEqual(["1 deleted", "2 deleted", "2 deleted"]);
  });
});
