import { InvalidArgumentError, LockLostError, systemRuntime } from "@holdfast/core";
import { errorCodes, openAcl } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LockPaths } from "../../../src/layout/lock-path.js";
import { ZooKeeperGrant } from "../../../src/recipes/grant/zookeeper-grant.js";
import { DowngradeAttempt } from "../../../src/recipes/queue/downgrade-attempt.js";
import { SessionContext } from "../../../src/recipes/session-context.js";
import { delivered, RecordedAttempt } from "../support/recorded-attempt.js";
import { stateOf } from "../support/scripted-sequence.js";
import { ScriptedSession, stat } from "../support/scripted-session.js";

const name = "_c_00000000-0000-4000-8000-000000000007-__WRIT__0000000007";
const node = { path: `/l/${name}`, name, czxid: 70n };
const readPattern = /^\/l\/_c_[0-9a-f-]{36}-__READ__0000000007$/;

let session: ScriptedSession;
let context: SessionContext;
let write: ZooKeeperGrant;

beforeEach(() => {
  session = new ScriptedSession();
  context = new SessionContext(session, systemRuntime);
  write = new ZooKeeperGrant(context, {
    lockName: "l",
    data: Buffer.from("payload"),
    nodes: [node],
    token: node.czxid,
    permitIds: [],
    roundTrips: 1,
    contended: false,
    revocable: false,
    watches: [],
  });
  delivered(write);
});

function take(aclOf = () => openAcl): RecordedAttempt {
  const settings = {
    paths: new LockPaths({ chroot: "", namespace: "", root: "/holdfast" }),
    runtime: systemRuntime,
    retry: { next: () => 0 },
    aclOf,
  };
  return new RecordedAttempt((listener) => new DowngradeAttempt(settings, write, false, listener));
}

/** Answers the three requests of one try. Returns the path of the create. */
function answer(made: "ok" | "NodeExists" = "ok", writeThere = true): string {
  const create = session.pending("create2");
  if (made === "ok") session.answer(create, { path: create.path, stat: stat(80n, session.id) });
  else session.refuse(create, errorCodes.NodeExists);
  session.answer(session.pending("exists", create.path), { stat: stat(80n, session.id) });
  const look = session.pending("exists", name);
  if (writeThere) session.answer(look, { stat: stat(70n, session.id) });
  else session.noNode(look);
  return create.path;
}

describe("a read beside a write", () => {
  it("bears the write's number, data and token, and costs one write to the server", async () => {
    const reading = take();
    expect(new Set(session.sent.map(({ write: sentWith }) => sentWith)).size).toBe(1);
    const path = answer();
    const read = await reading.grant;
    expect(path).toMatch(readPattern);
    expect(read).toMatchObject({
      token: 70n,
      backendId: path,
      parts: { data: write.parts.data },
      over: false,
    });
    expect(write.over).toBe(false);
  });

  it("is not given when the write node is gone by then, and its node is deleted", async () => {
    const reading = take();
    const path = answer("ok", false);
    session.answer(session.pending("delete", path), undefined);
    await expect(reading.grant).rejects.toThrow(LockLostError);
    expect(write.over).toBe(true);
  });

  it("is made again under the same name when the answer was lost, and found if it was there", async () => {
    const reading = take();
    const first = session.pending("create2").path;
    session.cut();
    session.mend();
    // The hold of the write also asks whether its node has survived.
    session.answer(session.pending("exists", name), { stat: stat(70n, session.id) });
    expect(answer("NodeExists")).toBe(first);
    expect((await reading.grant)?.backendId).toBe(first);
  });

  it("that cannot be sent again fails, once a node of the try before is gone", async () => {
    const mistake = new InvalidArgumentError("too large");
    const reading = take();
    const { path } = session.pending("create2");
    session.cut();
    const { send } = session;
    vi.spyOn(session, "send").mockImplementation((op, request, settle) => {
      if (op === "create2") throw mistake;
      send.call(session, op, request, settle);
    });
    session.mend();
    session.answer(session.pending("delete", path), undefined);
    await expect(reading.grant).rejects.toBe(mistake);
    expect(write.over).toBe(false);
  });

  it("that is withdrawn by the caller's choice of an ACL for the next try makes no node behind its delete", () => {
    let tries = 0;
    const reading = take(() => {
      if (++tries === 2) void reading.withdraw();
      return openAcl;
    });
    session.cut();
    session.mend();
    expect(tries).toBe(2);
    expect(session.sent.map(({ op }) => op)).toContain("delete");
    expect(session.sent.map(({ op }) => op)).not.toContain("create2");
  });

  it("is given up with the session", async () => {
    const reading = take();
    session.lose("expired");
    await expect(reading.grant).rejects.toMatchObject({ code: "HF_LOCK_LOST", reason: "session-expired" });
  });

  it("that is withdrawn while its create is on its way leaves no node", async () => {
    const reading = take();
    const create = session.pending("create2");
    const withdrawn = reading.withdraw();
    answer();
    expect(await stateOf(withdrawn)).toBe("open");
    session.answer(session.pending("delete", create.path), undefined);
    await withdrawn;
    expect(await stateOf(reading.grant)).toBe("open");
    expect(write.over).toBe(false);
  });

  it("that is withdrawn when it is granted is released", async () => {
    const reading = take();
    const path = answer();
    const withdrawn = reading.withdraw();
    session.answer(session.pending("delete", path), undefined);
    await withdrawn;
  });

  it("leaves nothing when the server refuses it for good", async () => {
    const reading = take();
    const create = session.pending("create2");
    session.refuse(create, errorCodes.NoAuth);
    session.noNode(session.pending("exists", create.path));
    session.answer(session.pending("exists", name), { stat: stat(70n, session.id) });
    session.noNode(session.pending("delete", create.path));
    await expect(reading.grant).rejects.toThrow(/NoAuth/);
    expect(write.over).toBe(false);
  });
});
