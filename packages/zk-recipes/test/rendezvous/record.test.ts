import { InvalidArgumentError } from "@holdfast/core";
import { type EmbeddedZooKeeper, startEmbeddedZooKeeper } from "@holdfast/test-servers";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type ZooKeeperLocks, zookeeperLocks } from "../../src/index.js";

let server: EmbeddedZooKeeper;
let locks: ZooKeeperLocks;
const path = "/jobs";

beforeEach(async () => {
  server = await startEmbeddedZooKeeper();
  onTestFinished(() => server.stop());
  locks = zookeeperLocks({ connect: server.connectString, sessionTimeoutMs: 20_000 });
  onTestFinished(async () => void (await locks.close({ releaseTimeoutMs: 500 })));
  await locks.ready();
});

/** The next request of `op` meets an outage. `work` runs before the client is back. */
function cutAt(op: "setData" | "create2", when: "before" | "applied", work: () => void): void {
  server.faults.on({ op }, { do: "close", when });
  server.faults.on({ op: "connect" }, { do: "run", call: work });
}
const write = (text: string) => () => void server.operator.setData(path, Buffer.from(text));

test("a record keeps a byte order mark at the start of its text, so that the text can be replaced again", async () => {
  const record = locks.record(path);
  const text = "\ufeffv7";
  expect(await record.replace(null, text)).toBe(true);
  expect(await record.read()).toBe(text);
  expect(await record.replace(text, "v8")).toBe(true);
});

test("a record refuses a text with half of a surrogate pair, which would be read as another text", async () => {
  const half = "🐙".slice(0, 1);
  await expect(locks.record(path).replace(null, half)).rejects.toBeInstanceOf(InvalidArgumentError);
  await expect(locks.record(path).replace(half, "v7")).rejects.toBeInstanceOf(InvalidArgumentError);
  expect(server.operator.exists(path)).toBeNull();
});

describe("a replace of a record whose answer was lost", () => {
  test("is true where its text is there", async () => {
    server.operator.create(path, { data: Buffer.from("v6") });
    cutAt("setData", "applied", () => {});
    expect(await locks.record(path).replace("v6", "v7 by A")).toBe(true);
    expect(server.operator.exists(path)?.version).toBe(1);
  });

  test("is sent again where nothing was written", async () => {
    server.operator.create(path, { data: Buffer.from("v6") });
    cutAt("setData", "before", () => {});
    expect(await locks.record(path).replace("v6", "v7 by A")).toBe(true);
  });

  test("is false where the one write since is that of another client", async () => {
    server.operator.create(path, { data: Buffer.from("v6") });
    cutAt("setData", "before", write("v7 by B"));
    expect(await locks.record(path).replace("v6", "v7 by A")).toBe(false);
  });

  test("rejects and may not be made again where another client has replaced its text", async () => {
    server.operator.create(path, { data: Buffer.from("v6") });
    cutAt("setData", "applied", write("v8 by B"));
    await expect(locks.record(path).replace("v6", "v7 by A")).rejects.toMatchObject({
      code: "HF_BACKEND",
      retryable: false,
      message: expect.stringContaining("may or may not have been"),
    });
  });

  test("rejects where it made the record and another client has replaced it", async () => {
    cutAt("create2", "applied", write("v8 by B"));
    await expect(locks.record(path).replace(null, "v7 by A")).rejects.toMatchObject({ retryable: false });
  });

  test("rejects where it made the record, and another client has deleted that and made its own", async () => {
    cutAt("create2", "applied", () => {
      server.operator.delete(path);
      server.operator.create(path, { data: Buffer.from("v8 by B") });
    });
    await expect(locks.record(path).replace(null, "v7 by A")).rejects.toMatchObject({ retryable: false });
  });

  test("rejects and may not be made again where an outage hides what became of it for longer than connectTimeoutMs", async () => {
    const { connectString: connect } = server;
    const impatient = zookeeperLocks({ connect, sessionTimeoutMs: 20_000, connectTimeoutMs: 300 });
    onTestFinished(async () => void (await impatient.close({ releaseTimeoutMs: 100 })));
    // The short time is for the outage below. The first connection may take longer on a busy machine.
    await impatient.ready({ waitMs: 20_000 });
    server.operator.create(path, { data: Buffer.from("v6") });
    cutAt("setData", "applied", () => server.pause());
    await expect(impatient.record(path).replace("v6", "v7 by A")).rejects.toMatchObject({
      code: "HF_BACKEND",
      retryable: false,
      message: expect.stringMatching(/could not be read .*may or may not have been applied/),
    });
  });

  test("rejects where the record is gone, and does not make it anew", async () => {
    server.operator.create(path, { data: Buffer.from("v6") });
    cutAt("setData", "applied", () => server.operator.delete(path));
    await expect(locks.record(path).replace("v6", "v7 by A")).rejects.toMatchObject({ retryable: false });
    expect(server.operator.exists(path)).toBeNull();
  });
});
