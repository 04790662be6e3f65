import { BackendError, type HoldfastError, InvalidArgumentError, systemRuntime } from "@holdfast/core";
import { type Acl, errorCodes, openAcl } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { LockPaths } from "../../../src/layout/lock-path.js";
import { ProtectedNodes } from "../../../src/recipes/create/protected-nodes.js";
import { SessionContext } from "../../../src/recipes/session-context.js";
import { stateOf } from "../support/scripted-sequence.js";
import { ScriptedSession, type Sent, stat } from "../support/scripted-session.js";

let session: ScriptedSession;
let context: SessionContext;
let create: ProtectedNodes;
let made: string[];
let failure: HoldfastError | null;
let aclOf: (path: string) => readonly Acl[];
let nextTryMs: number | null;

beforeEach(() => {
  nextTryMs = null;
  aclOf = () => openAcl;
  session = new ScriptedSession();
  context = new SessionContext(session, systemRuntime);
  made = [];
  failure = null;
  create = new ProtectedNodes(
    context,
    {
      paths: new LockPaths({ chroot: "/app", namespace: "", root: "/holdfast" }),
      runtime: systemRuntime,
      retry: { next: () => nextTryMs },
      aclOf: (path) => aclOf(path),
    },
    {
      parts: [{ lockName: "l", parent: "/app/holdfast/l", rule: { base: "lock-" }, data: new Uint8Array(0) }],
      transaction: false,
    },
    {
      created: ([node]) => made.push(node.path),
      failed: (error) => {
        failure = error;
      },
    },
  );
  create.start();
});

function succeed(sent: Sent, sequence = "0000000000"): string {
  const path = sent.path + sequence;
  session.answer(sent, { path, stat: stat(7n, session.id) });
  return path;
}

describe("a protected create", () => {
  it("sends the create and the listing in one write", () => {
    expect(session.sent.map((sent) => sent.op)).toEqual(["create2", "getChildren2"]);
    expect(session.sent[0]?.write).toBe(session.sent[1]?.write);
    expect(session.sent[0]?.path).toMatch(/^\/app\/holdfast\/l\/_c_[0-9a-f-]{36}-lock-$/);
  });

  it("makes the missing parents below the chroot as containers, and the node, in one further write", () => {
    session.noNode(session.pending("create2"));
    session.noNode(session.pending("getChildren2"));
    expect(session.sent.map((sent) => `${sent.op} ${sent.path.replace(/_c_.*/, "*")}`)).toEqual([
      "createContainer /app/holdfast",
      "createContainer /app/holdfast/l",
      "create2 /app/holdfast/l/*",
      "getChildren2 /app/holdfast/l",
    ]);
    expect(new Set(session.sent.map((sent) => sent.write)).size).toBe(1);
    session.refuse(session.pending("createContainer"), errorCodes.NodeExists);
    session.answer(session.pending("createContainer"), {});
    const path = succeed(session.pending("create2"));
    session.answer(session.pending("getChildren2"), { children: [] });
    expect(made).toEqual([path]);
  });

  it("names the chroot when that is missing", () => {
    session.noNode(session.pending("create2"));
    session.noNode(session.pending("getChildren2"));
    for (const sent of [...session.sent]) session.noNode(sent);
    expect(failure).toBeInstanceOf(BackendError);
    expect(failure?.message).toContain("the chroot /app does not exist");
    expect(failure?.retryable).toBe(false);
  });

  it("says what to change when the server refuses it", () => {
    session.refuse(session.pending("create2"), errorCodes.NoAuth);
    session.noNode(session.pending("getChildren2"));
    expect(failure).toBeInstanceOf(BackendError);
    expect(failure?.message).toMatch(/NoAuth.*options auth and acl/);
    expect(failure?.retryable).toBe(false);
  });
});

describe("a create that is given up", () => {
  it("rejects where the server refuses to delete its node, which keeps others out", async () => {
    const { path } = session.pending("create2");
    const abandoned = create.abandon();
    session.answer(session.pending("create2"), { path: `${path}0000000000`, stat: stat(7n, session.id) });
    session.answer(session.pending("getChildren2"), { children: [] });
    session.refuse(session.pending("delete"), errorCodes.NoAuth);
    await expect(abandoned).rejects.toThrow(/^deleting what was queued on \/app\/holdfast\/l: NoAuth/);
    expect(made).toEqual([]);
  });
});

describe("an ACL that the caller's function does not give", () => {
  it("for a parent fails the create alone, with nothing more sent and no listener left", () => {
    const mistake = new InvalidArgumentError("acl threw");
    aclOf = () => {
      throw mistake;
    };
    session.noNode(session.pending("create2"));
    session.noNode(session.pending("getChildren2"));
    expect(failure).toBe(mistake);
    expect(session.sent).toEqual([]);
  });
});

describe("a create whose answer was lost", () => {
  let prefix: string;
  beforeEach(() => {
    prefix = session.pending("create2").path.split("/").pop()?.replace("lock-", "") as string;
    session.cut();
    session.mend();
  });

  it("is looked for behind a sync, and not repeated when its node is found", () => {
    expect(session.sent.map((sent) => sent.op)).toEqual(["sync", "getChildren2"]);
    session.answer(session.pending("sync"), { path: "/" });
    const name = `${prefix}lock-0000000004`;
    session.answer(session.pending("getChildren2"), { children: ["_c_other-lock-0000000001", name] });
    expect(session.has("create2")).toBe(false);
    session.answer(session.pending("exists"), { stat: stat(7n, session.id) });
    session.answer(session.pending("getChildren2"), { children: [name] });
    expect(made).toEqual([`/app/holdfast/l/${name}`]);
  });

  it("is known to its session until the node is found, or is known not to be there", () => {
    expect(context.unknownCreates.size).toBe(1);
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("getChildren2"), { children: [] });
    expect(context.unknownCreates.size).toBe(0);
    session.cut();
    expect(context.unknownCreates.size).toBe(1);
    session.mend();
    const name = `${prefix}lock-0000000004`;
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("getChildren2"), { children: [name] });
    expect(context.unknownCreates.size).toBe(1);
    session.answer(session.pending("exists"), { stat: stat(7n, session.id) });
    session.answer(session.pending("getChildren2"), { children: [name] });
    expect(context.unknownCreates.size).toBe(0);
  });

  it("is sent again when its node is not there", () => {
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("getChildren2"), { children: [] });
    succeed(session.pending("create2"));
    session.answer(session.pending("getChildren2"), { children: [] });
    expect(made).toHaveLength(1);
  });

  it("is not repeated on the word of a listing whose sync failed", () => {
    session.refuse(session.pending("sync"), errorCodes.ThrottledOp);
    session.answer(session.pending("getChildren2"), { children: [] });
    expect(session.has("create2")).toBe(false);
    expect(made).toEqual([]);
  });

  it("is not repeated when a busy server does not show its node, but looked for again", () => {
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.useRealTimers();
    });
    nextTryMs = 10;
    const name = `${prefix}lock-0000000004`;
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("getChildren2"), { children: [name] });
    session.refuse(session.pending("exists"), errorCodes.ThrottledOp);
    session.answer(session.pending("getChildren2"), { children: [name] });
    expect(failure).toBeNull();
    vi.advanceTimersByTime(250);
    expect(session.sent.map((sent) => sent.op)).toEqual(["sync", "getChildren2"]);
  });

  it("deletes its node before it fails when the server refuses to show it", () => {
    const name = `${prefix}lock-0000000004`;
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("getChildren2"), { children: [name] });
    session.refuse(session.pending("exists"), errorCodes.NoAuth);
    session.answer(session.pending("getChildren2"), { children: [name] });
    expect(failure).toBeNull();
    session.answer(session.pending("delete", name), undefined);
    expect(failure?.message).toContain("NoAuth");
    expect(session.has("create2")).toBe(false);
  });

  it("fails when the server refuses the look-up for good, and its node is deleted as soon as it is shown", () => {
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const name = `${prefix}lock-0000000004`;
    session.answer(session.pending("sync"), { path: "/" });
    session.refuse(session.pending("getChildren2"), errorCodes.NoAuth);
    expect(failure?.message).toContain("NoAuth");
    vi.advanceTimersByTime(250);
    session.answer(session.pending("sync"), { path: "/" });
    session.refuse(session.pending("getChildren2"), errorCodes.NoAuth);
    vi.advanceTimersByTime(499);
    expect(session.sent).toEqual([]);
    vi.advanceTimersByTime(1);
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("getChildren2"), { children: ["_c_other-lock-0000000001", name] });
    session.answer(session.pending("delete", name), undefined);
    vi.advanceTimersByTime(60_000);
    expect(session.sent).toEqual([]);
  });

  it("is looked for again when contact breaks during the look-up", () => {
    session.cut();
    session.mend();
    expect(session.sent.map((sent) => sent.op)).toEqual(["sync", "getChildren2"]);
  });

  it("is looked for and deleted when it was given up meanwhile", async () => {
    const gone = create.abandon();
    const name = `${prefix}lock-0000000004`;
    session.answer(session.pending("sync"), { path: "/" });
    session.answer(session.pending("getChildren2"), { children: [name] });
    expect(await stateOf(gone)).toBe("open");
    session.answer(session.pending("delete", name), undefined);
    await gone;
    expect(made).toEqual([]);
  });

  it("has nothing left once the session is over", async () => {
    const gone = create.abandon();
    session.lose("expired");
    await gone;
  });
});

describe("a create that is given up before its answer", () => {
  it("deletes the node as soon as it knows of it", async () => {
    const gone = create.abandon();
    const path = succeed(session.pending("create2"));
    session.answer(session.pending("getChildren2"), { children: [] });
    session.answer(session.pending("delete", path), undefined);
    await gone;
    expect(made).toEqual([]);
  });
});
