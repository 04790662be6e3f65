import { type InspectOptions, type LockSnapshot, type PrimitiveKind, systemRuntime } from "@holdfast/core";
import { errorCodes } from "@holdfast/zk-protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { inspectPath } from "../../../src/recipes/inspect/inspect.js";
import { SessionContext } from "../../../src/recipes/session-context.js";
import { ScriptedSession, stat } from "../support/scripted-session.js";

const lock = (sequence: number): string =>
  `_c_00000000-0000-4000-8000-00000000000${sequence}-lock-000000000${sequence}`;

let session: ScriptedSession;
beforeEach(() => {
  session = new ScriptedSession();
});

function inspect(kind: PrimitiveKind = "mutex", options: InspectOptions = {}): Promise<LockSnapshot> {
  const context = new SessionContext(session, systemRuntime);
  return inspectPath(context, { kind, lockName: "l", path: "/l" }, options);
}

async function sent(op: "getChildren2" | "getData", pathEnd = "") {
  await expect.poll(() => session.has(op, pathEnd)).toBe(true);
  return session.pending(op, pathEnd);
}

async function list(...children: string[]): Promise<void> {
  session.answer(await sent("getChildren2"), { children, stat: stat(1n, 0n) });
}

async function read(name: string, czxid: bigint): Promise<void> {
  session.answer(await sent("getData", name), { data: null, stat: stat(czxid, 5n) });
}

describe("a look at a lock", () => {
  it("asks for names, and then for all nodes that it shows in one write", async () => {
    const looking = inspect("mutex", { maxPending: 1 });
    await list(lock(1), lock(2), lock(3));
    await sent("getData");
    expect(session.sent.map(({ path }) => path)).toEqual([`/l/${lock(1)}`, `/l/${lock(2)}`]);
    expect(new Set(session.sent.map(({ write }) => write)).size).toBe(1);
    await read(lock(1), 7n);
    await read(lock(2), 8n);
    const { held, pending, pendingTotal } = await looking;
    expect(held).toMatchObject([{ token: 7n, session: "0x5" }]);
    expect(pending).toMatchObject([{ position: 0 }]);
    expect(pendingTotal).toBe(2);
  });

  it("does not take a waiter for a holder that an older child of no recipe blocks", async () => {
    const looking = inspect();
    await list("0-note", lock(1));
    await read(lock(1), 7n);
    await expect.poll(() => session.has("exists", "0-note")).toBe(true);
    session.answer(session.pending("exists", "0-note"), { stat: stat(3n, 0n) });
    expect(await looking).toMatchObject({ held: [], pending: [{ backendId: `/l/${lock(1)}` }] });
  });

  it("leaves out a waiter that went before it was read", async () => {
    const looking = inspect();
    await list(lock(1), lock(2), lock(3));
    await read(lock(1), 7n);
    session.noNode(await sent("getData", lock(2)));
    await read(lock(3), 9n);
    expect((await looking).pending).toMatchObject([{ position: 0, backendId: `/l/${lock(3)}` }]);
  });

  it("lists again when the holder went before it was read, so that the next holder is shown in its place", async () => {
    const looking = inspect();
    await list(lock(1), lock(2));
    session.noNode(await sent("getData", lock(1)));
    await read(lock(2), 8n);
    await list(lock(2));
    await read(lock(2), 8n);
    expect(await looking).toMatchObject({ held: [{ token: 8n }], pending: [] });
  });

  it("gives up on a queue that moves faster than it can look", async () => {
    const looking = inspect();
    for (let sequence = 1; sequence <= 5; sequence++) {
      await list(lock(sequence));
      session.noNode(await sent("getData", lock(sequence)));
    }
    expect(await looking).toMatchObject({ held: [], pending: [] });
    expect(session.sent).toEqual([]);
  });

  it("does not know how many wait for a naive mutex, held or free: they have no nodes", async () => {
    const held = inspect("naive-mutex");
    session.answer(await sent("getChildren2"), { children: [], stat: stat(7n, 5n) });
    expect(await held).toMatchObject({ held: [{ token: 7n }], pending: [], pendingTotal: null });
    const free = inspect("naive-mutex");
    session.noNode(await sent("getChildren2"));
    expect(await free).toMatchObject({ kind: null, held: [], pendingTotal: null });
    const mutex = inspect("mutex");
    session.noNode(await sent("getChildren2"));
    expect(await mutex).toMatchObject({ kind: null, held: [], pendingTotal: 0 });
  });

  it("reads the three listings of a semaphore in one write", async () => {
    const looking = inspect("semaphore");
    expect(session.sent.map(({ path }) => path)).toEqual(["/l", "/l/locks", "/l/leases"]);
    expect(new Set(session.sent.map(({ write }) => write)).size).toBe(1);
    session.answer(await sent("getChildren2", "/l"), { children: ["locks", "leases"], stat: stat(1n, 0n) });
    session.noNode(await sent("getChildren2", "/locks"));
    session.answer(await sent("getChildren2", "/leases"), { children: [], stat: stat(1n, 0n) });
    expect(await looking).toMatchObject({ kind: "semaphore", held: [], pending: [] });
  });

  it("says what the server refused", async () => {
    const looking = inspect();
    session.refuse(await sent("getChildren2"), errorCodes.NoAuth);
    await expect(looking).rejects.toMatchObject({
      code: "HF_BACKEND",
      message: expect.stringContaining("NoAuth"),
    });
    const second = inspect();
    await list(lock(1));
    session.refuse(await sent("getData", lock(1)), errorCodes.NoAuth);
    await expect(second).rejects.toMatchObject({
      code: "HF_BACKEND",
      message: expect.stringContaining(lock(1)),
    });
  });
});
