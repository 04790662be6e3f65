import { eventually } from "@holdfast/test-servers";
import { Perms } from "@holdfast/zk-protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CuratorClient, curatorVersions } from "../support/curator/java-peer.js";
import { InteropFixture } from "./fixture.js";
import { shape } from "./shape.js";

const waitMs = 30_000;
const digest = "holdfast:secret";

describe.each(await curatorVersions())("the tree beside that of Curator %s", (curator) => {
  let fixture: InteropFixture;
  let client: CuratorClient;

  beforeAll(async () => {
    fixture = await InteropFixture.start(curator, { containerCheckIntervalMs: 500 });
    client = await fixture.curator();
  });

  afterAll(() => fixture?.close());

  it("looks the same with a holder and two waiters under three absent parents", async () => {
    const theirRoot = "/layout-curator";
    const theirPath = `${theirRoot}/a/b`;
    const mutexes = await Promise.all(
      [client, await fixture.curator(), await fixture.curator()].map((each) => each.mutex(theirPath)),
    );
    const ourRoot = "/layout-ours";
    const ourPath = `${ourRoot}/a/b`;
    const providers = [await fixture.ours(), await fixture.ours(), await fixture.ours()];

    const theirWork: Promise<unknown>[] = [];
    const ourWork: ReturnType<ReturnType<(typeof providers)[number]["mutex"]>["acquire"]>[] = [];
    for (const [at, mutex] of mutexes.entries()) {
      theirWork.push(mutex.acquire());
      ourWork.push((providers[at] as (typeof providers)[number]).mutex(ourPath).acquire({ waitMs }));
      await expect.poll(async () => (await client.dump(theirRoot)).length).toBe(4 + at);
      await expect.poll(async () => (await client.dump(ourRoot)).length).toBe(4 + at);
    }
    const ours = shape(await client.dump(ourRoot), ourRoot);
    expect(ours).toEqual(shape(await client.dump(theirRoot), theirRoot));
    // Written out once in full, so that two trees that are equal but wrong cannot pass.
    expect(ours).toEqual([
      " lasting - 31:world:anyone",
      "/a lasting - 31:world:anyone",
      "/a/b lasting - 31:world:anyone",
      "/a/b/_c_<uuid>-lock-<10 digits> ephemeral session 1 31:world:anyone",
      "/a/b/_c_<uuid>-lock-<10 digits> ephemeral session 2 31:world:anyone",
      "/a/b/_c_<uuid>-lock-<10 digits> ephemeral session 3 31:world:anyone",
    ]);

    for (const mutex of mutexes) {
      await theirWork.shift();
      await mutex.release();
    }
    for (const grant of ourWork) await (await grant).release();
    // The parents are containers: the server removes them when they are empty. It never removes persistent nodes.
    for (const root of [theirRoot, ourRoot]) {
      await eventually(() => client.dump(root).then(() => false, noNode), {
        what: `${root} to be reaped`,
        withinMs: 20_000,
      });
    }
  });

  it("carries the same ACL when both give nodes to their creator alone, and both can share the lock", async () => {
    const theirs = await (await fixture.curator({ digest })).mutex("/acl-curator/lock");
    const acl = [{ perms: Perms.ALL, scheme: "auth", id: "" }];
    const locks = await fixture.ours({ auth: [{ scheme: "digest", auth: digest }], acl });
    await theirs.acquire();
    await using lock = await locks.mutex("/acl-ours/lock").acquire({ waitMs });
    const reader = await fixture.curator({ digest });
    const ours = shape(await reader.dump("/acl-ours"), "/acl-ours");
    expect(ours).toEqual(shape(await reader.dump("/acl-curator"), "/acl-curator"));
    expect(ours.at(-1)).toMatch(/ 31:digest:holdfast:/);

    expect(await locks.mutex("/acl-curator/lock").tryAcquire()).toBeNull();
    expect(await (await reader.mutex("/acl-ours/lock")).acquire({ waitMs: 0 })).toBeNull();
    lock.assertHeld();
    await theirs.release();
  });

  it("puts a namespace where Curator puts it", async () => {
    const theirs = await (await fixture.curator({ namespace: "team" })).mutex("/deep/lock");
    const plain = await client.mutex("/team/deep/lock");
    const locks = await fixture.ours({ namespace: "team" });
    const lock = await locks.mutex("/deep/lock").acquire({ waitMs });
    expect(await theirs.acquire({ waitMs: 0 })).toBeNull();
    expect(await plain.acquire({ waitMs: 0 })).toBeNull();
    expect(await plain.participants()).toHaveLength(1);
    await lock.release();
    await theirs.acquire();
    expect(await locks.mutex("/deep/lock").tryAcquire()).toBeNull();
    await theirs.release();
  });

  it("lies below the chroot of the connect string, as Curator's does", async () => {
    const maker = await client.mutex("/chroot/base/keep");
    await maker.acquire();
    const connect = `${fixture.server.connectString}/chroot/base`;
    const theirs = await (await fixture.curator({ connect })).mutex("/lock");
    const locks = await fixture.ours({ connect });
    const lock = await locks.mutex("/lock").acquire({ waitMs });
    expect(await theirs.acquire({ waitMs: 0 })).toBeNull();
    expect(await (await client.mutex("/chroot/base/lock")).participants()).toHaveLength(1);
    await lock.release();
    await maker.release();
  });

  it("shows Curator's holder and queue in inspect()", async () => {
    const path = "/inspected";
    const locks = await fixture.ours();
    const holder = await client.mutex(path);
    const held = await holder.acquire();
    const second = await fixture.curator();
    const waiter = await second.mutex(path);
    const theirWait = waiter.acquire();
    await expect.poll(() => holder.participants()).toHaveLength(2);
    const ourWait = locks.mutex(path).acquire({ waitMs });
    await expect.poll(() => holder.participants()).toHaveLength(3);

    const nodes = await holder.participants();
    const snapshot = await locks.mutex(path).inspect();
    expect(snapshot.kind).toBe("mutex");
    expect(snapshot.held).toHaveLength(1);
    expect(snapshot.held[0]).toMatchObject({
      backendId: held?.path,
      session: `0x${(await client.session()).id.toString(16)}`,
      token: held?.czxid,
      recognisedAs: "curator",
      heldByThisProvider: false,
    });
    expect(snapshot.held[0]?.address).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    expect(snapshot.pendingTotal).toBe(2);
    expect(
      snapshot.pending.map(({ backendId, position, recognisedAs }) => [backendId, position, recognisedAs]),
    ).toEqual([
      [nodes[1], 0, "curator"],
      [nodes[2], 1, "holdfast"],
    ]);
    expect(snapshot.pending[0]?.session).toBe(`0x${(await second.session()).id.toString(16)}`);

    await holder.release();
    await theirWait;
    await waiter.release();
    await (await ourWait).release();
  });
});

function noNode(error: Error): true {
  if (!error.message.includes("NoNode")) throw error;
  return true;
}
