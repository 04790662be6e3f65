import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type SharedValue, type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";

let server: EmbeddedZooKeeper;
let locks: ZooKeeperLocks;
const path = "/gate";
const unknown = {
  code: "HF_BACKEND",
  retryable: false,
  message: expect.stringContaining("may or may not have been applied"),
};

beforeEach(async () => {
  server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  locks = zookeeperLocks({ connect: server.connectString, sessionTimeoutMs: 20_000 });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  await locks.ready();
});

/** The next request of `op` meets an outage. `work` runs before the client is back. */
function cutAt(op: "create2" | "delete", when: "before" | "applied", work: () => void = () => {}): void {
  server.faults.on({ op, path }, { do: "close", when });
  server.faults.on({ op: "connect" }, { do: "run", call: work });
}

/** Counts the requests of `op` from now on. */
function count(op: "create2" | "delete"): { readonly hits: readonly unknown[] } {
  return server.faults.on({ op, path, times: Number.POSITIVE_INFINITY }, { do: "run", call: () => {} });
}

describe("open() of a barrier whose answer was lost", () => {
  beforeEach(() => locks.barrier(path).shut());

  test("is done where the gate is open", async () => {
    const deletes = count("delete");
    cutAt("delete", "applied");
    await locks.barrier(path).open();
    expect(server.operator.exists(path)).toBeNull();
    expect(deletes.hits).toHaveLength(1);
  });

  test("is sent again where the gate is shut as before", async () => {
    cutAt("delete", "before");
    await locks.barrier(path).open();
    expect(server.operator.exists(path)).toBeNull();
  });

  test("leaves a gate alone that another client has shut since, and rejects", async () => {
    cutAt("delete", "applied", () => void server.operator.create(path));
    await expect(locks.barrier(path).open()).rejects.toMatchObject(unknown);
    expect(server.operator.exists(path)).not.toBeNull();
  });
});

describe("shut() of a barrier whose answer was lost", () => {
  // The client has an answer of the server before it shuts the gate.
  beforeEach(() => locks.barrier(path).open());

  test("is done where the gate is shut", async () => {
    const creates = count("create2");
    cutAt("create2", "applied");
    await locks.barrier(path).shut();
    expect(server.operator.exists(path)).not.toBeNull();
    expect(creates.hits).toHaveLength(1);
  });

  test("is sent again where the gate is open as before", async () => {
    cutAt("create2", "before");
    await locks.barrier(path).shut();
    expect(server.operator.exists(path)).not.toBeNull();
  });

  test("does not shut a gate again that another client has opened since, and rejects", async () => {
    cutAt("create2", "applied", () => server.operator.delete(path));
    await expect(locks.barrier(path).shut()).rejects.toMatchObject(unknown);
    expect(server.operator.exists(path)).toBeNull();
  });
});

test("open() as the first request of its session is sent again where the gate is shut as before", async () => {
  server.operator.create(path);
  cutAt("delete", "before");
  await locks.barrier(path).open();
  expect(server.operator.exists(path)).toBeNull();
});

describe("a change whose session ended here first is not sent again, because the server may still get its first request:", () => {
  test.each([
    ["open() of a barrier", ({ locks: each }: { locks: ZooKeeperLocks }) => each.barrier(path).open()],
    ["set() of a value", ({ value }: { value: SharedValue<Uint8Array> }) => value.set(Buffer.from("late"))],
  ] as const)("%s", { timeout: 20_000 }, async (_what, change) => {
    const quick = await startEmbeddedZooKeeper({ minSessionTimeoutMs: 1_000 });
    onTestFinished(() => quick.stop());
    const early = zookeeperLocks({ connect: quick.connectString, sessionTimeoutMs: 3_000 });
    onTestFinished(async () => void (await early.close({ releaseTimeoutMs: 500 })));
    await early.ready();
    const session = quick.sessions()[0]?.id as bigint;
    const value = early.sharedValue(path, Buffer.alloc(0));
    await value.set(Buffer.from("early"));
    // Only a new session gets through. The request stays in the socket of the old one.
    quick.faults.on({ op: "connect", session, times: Number.POSITIVE_INFINITY }, { do: "hold" });
    const unread = quick.faults.stopReading(session);
    await expect(change({ locks: early, value })).rejects.toMatchObject(unknown);
    unread.release();
  });
});

describe("add() whose session ended here first does not say that it can be made again, because the server may still get its first request, when", () => {
  type Cut = () => void;
  test.each([
    [
      "contact is lost before it is sent again",
      (cut: Cut) => {
        cut();
        return 500;
      },
    ],
    ["the retry policy gives up", () => null],
  ] as const)("%s", { timeout: 20_000 }, async (_what, next) => {
    const quick = await startEmbeddedZooKeeper({ minSessionTimeoutMs: 1_000 });
    onTestFinished(() => quick.stop());
    const cut = (): void => {
      quick.faults.on({ op: "connect", times: Number.POSITIVE_INFINITY }, { do: "hold" });
      for (const { id } of quick.sessions()) if (id !== session) quick.dropConnection(id);
    };
    const early = zookeeperLocks({
      connect: quick.connectString,
      sessionTimeoutMs: 3_000,
      connectTimeoutMs: 1_500,
      retry: { next: () => next(cut) },
    });
    onTestFinished(async () => void (await early.close({ releaseTimeoutMs: 500 })));
    await early.ready({ waitMs: 20_000 });
    const session = quick.sessions()[0]?.id as bigint;
    const number = early.atomicLong(path);
    await number.set(5n);
    // Only a new session gets through. The write stays in the socket of the old one, behind the read.
    quick.faults.on({ op: "connect", session, times: Number.POSITIVE_INFINITY }, { do: "hold" });
    const stop = (): void => void quick.faults.stopReading(session);
    quick.faults.on({ op: "getData", session }, { do: "run", call: stop });
    const sentAgain = quick.faults.on({ op: "setData" }, { do: "answer", err: "ThrottledOp" });
    await expect(number.add(1n)).rejects.toMatchObject(unknown);
    expect(sentAgain.hits).toHaveLength(1);
  });
});
