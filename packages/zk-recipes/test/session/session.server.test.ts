import { startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { CreateFlags, errorCodes, ZooKeeperError } from "@holdfast/zk-protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRequest, open, outcomeOf, statesOf } from "./support.js";

let server: ZooKeeperNode;

beforeAll(async () => {
  server = await startZooKeeper();
});

afterAll(() => server.stop());

describe("a session on a real server", () => {
  test("connects, answers, and is connected only once its time-out is known", async () => {
    const session = open(server.connectString);
    const states = statesOf(session);
    expect(session.state).toBe("connecting");
    expect(session.id).toBe(0n);
    expect(session.timeoutMs).toBe(0);
    expect(session.leaseUntilMs()).toBe(-Infinity);
    await session.whenConnected();
    expect(states).toEqual(["connected"]);
    expect(session.id).not.toBe(0n);
    expect(session.timeoutMs).toBe(4_000);
    expect(session.connection).toBe(1);
    const made = await session.request("create2", createRequest("/first", CreateFlags.ephemeral, "x"));
    expect(made.stat.ephemeralOwner).toBe(session.id);
    const read = await session.request("getData", { path: "/first", watch: false });
    expect(Buffer.from(read.data ?? []).toString()).toBe("x");
  });

  test("hands on the server's errors with code, operation and path", async () => {
    const session = open(server.connectString);
    await session.whenConnected();
    const outcome = await outcomeOf(session, "getData", { path: "/absent", watch: false });
    expect(outcome.ok).toBe(false);
    const error = outcome.ok ? null : (outcome.error as ZooKeeperError);
    expect(error).toBeInstanceOf(ZooKeeperError);
    expect(error?.code).toBe(errorCodes.NoNode);
    expect(error?.op).toBe("getData");
    expect(error?.path).toBe("/absent");
  });

  test("ends at the server when closed: its ephemeral nodes go at once", async () => {
    const session = open(server.connectString);
    const other = open(server.connectString);
    await Promise.all([session.whenConnected(), other.whenConnected()]);
    await session.request("create2", createRequest("/goes", CreateFlags.ephemeral));
    await session.close();
    expect(session.state).toBe("closed");
    const outcome = await outcomeOf(other, "exists", { path: "/goes", watch: false });
    expect(outcome.ok).toBe(false);
  });
});
