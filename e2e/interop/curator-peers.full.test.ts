import { startZooKeeper, type ZooKeeperNode } from "@holdfast/test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { curatorVersionsInShare, type JavaPeer, startJavaPeer } from "../support/curator/java-peer.js";
import { ContentionLog } from "./contention-log.js";

/** Java against Java: checks what the other interop tests assume of their peer. */
describe.each(await curatorVersionsInShare())("two Java processes with Curator %s", (curator) => {
  let server: ZooKeeperNode;
  let a: JavaPeer;
  let b: JavaPeer;

  beforeAll(async () => {
    server = await startZooKeeper();
    [a, b] = await Promise.all([startJavaPeer({ curator }), startJavaPeer({ curator })]);
    if (curator === "5.4.0") expect(a.curatorVersion).toBe("5.4.0");
    else expect(Number(a.curatorVersion.split(".")[1])).toBeGreaterThan(4);
    console.log(`Curator ${a.curatorVersion}`);
  });

  afterAll(async () => {
    await Promise.all([a?.close(), b?.close()]);
    await server?.stop();
  });

  it("exclude each other and take turns", async () => {
    const [left, right] = await Promise.all([
      a.connect({ connect: server.connectString }),
      b.connect({ connect: server.connectString }),
    ]);
    const [mine, theirs] = await Promise.all([left.mutex("/peers/turns"), right.mutex("/peers/turns")]);
    const first = await mine.acquire();
    expect(first).not.toBeNull();
    expect(await theirs.acquire({ waitMs: 0 })).toBeNull();

    const queued = theirs.acquire();
    await expect.poll(() => mine.participants()).toHaveLength(2);
    expect((await mine.participants())[0]).toBe(first?.path);
    await mine.release();
    const second = await queued;
    expect(second?.czxid).toBeGreaterThan(first?.czxid ?? 0n);
    await theirs.release();
    expect(await mine.participants()).toEqual([]);
  });

  it("hear a revocation while holding, and keep the lock until they release it", async () => {
    const [left, right] = await Promise.all([
      a.connect({ connect: server.connectString }),
      b.connect({ connect: server.connectString }),
    ]);
    const [mine, theirs] = await Promise.all([left.mutex("/peers/revoke"), right.mutex("/peers/revoke")]);
    const { revoked } = await mine.makeRevocable();
    const held = await mine.acquire();
    await right.attemptRevoke(held?.path ?? "");
    await revoked;
    expect(await theirs.acquire({ waitMs: 0 })).toBeNull();
    await mine.release();
    expect(await theirs.acquire()).not.toBeNull();
    await theirs.release();
  });

  it("lose no update of a file that only the lock protects", async () => {
    const clients = await Promise.all(
      [a, a, b, b].map((peer) => peer.connect({ connect: server.connectString })),
    );
    await using log = await ContentionLog.start();
    await Promise.all(
      clients.map((client, at) =>
        client.contend({ path: "/peers/count", ...log.files, grants: 25, label: `java-${at}` }, 60_000),
      ),
    );
    await log.expectOrderly(100);
  });

  it("refuse an unknown command by name, and an answer that is late by its limit", async () => {
    const client = await a.connect({ connect: server.connectString });
    await expect(client.dump("/absent")).rejects.toThrow(/NoNodeException.*\/absent/);
    await expect(client.untilState("LOST", 50)).rejects.toThrow("no state LOST within 50 ms");
  });
});
