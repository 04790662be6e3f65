import type { LockHandle } from "@holdfast/core";
import { multiLock } from "@holdfast/multi-lock";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CuratorClient, curatorVersionsInShare } from "../support/curator/java-peer.js";
import { share } from "../support/share.js";
import { ContentionLog } from "./contention-log.js";
import { InteropFixture, watched } from "./fixture.js";
import { behind } from "./gate.js";
import { contendBy } from "./our-contenders.js";
import { shape } from "./shape.js";

const waitMs = 30_000;

/**
 * Curator's multi lock is only a list of mutexes, taken one after the other in the given order. Ours takes the same mutexes in
 * the order of their names, so the tests give the paths to Curator in that order.
 */
describe.each(await curatorVersionsInShare())("a multi lock of Curator %s and ours", (curator) => {
  let fixture: InteropFixture;
  let client: CuratorClient;

  beforeAll(async () => {
    fixture = await InteropFixture.start(curator);
    client = await fixture.curator();
  });

  afterAll(() => fixture?.close());

  it("exclude each other, whole by whole", async () => {
    const paths = ["/multi/whole/a", "/multi/whole/b", "/multi/whole/c"] as const;
    const theirs = await client.multiLock(paths);
    const locks = await fixture.ours();
    // The mutexes are given in another order, because ours sorts them.
    const ours = multiLock([...paths].reverse().map((path) => locks.mutex(path)));
    const held = await ours.acquire({ waitMs });
    expect(held.parts.map(({ name }) => name)).toEqual(paths);
    expect(await theirs.acquire({ waitMs: 100 })).toBe(false);
    const waiting = watched(theirs.acquire());
    await expect
      .poll(async () => (await locks.mutex(paths[0]).inspect()).pendingTotal, { timeout: 10_000 })
      .toBe(1);
    expect(waiting.granted).toBe(false);
    await held.release();
    expect(await waiting.grant).toBe(true);

    expect(await ours.tryAcquire()).toBeNull();
    const next = watched(ours.acquire({ waitMs }));
    await expect
      .poll(async () => (await locks.mutex(paths[0]).inspect()).pendingTotal, { timeout: 10_000 })
      .toBe(1);
    // While it waits for the first lock it has no place in the queues of the others.
    for (const path of paths.slice(1)) expect((await locks.mutex(path).inspect()).pendingTotal).toBe(0);
    expect(next.granted).toBe(false);
    await theirs.release();
    await (await next.grant).release();
    for (const path of paths) expect((await locks.mutex(path).inspect()).held).toEqual([]);
  });

  it("share their members as mutexes: all or none", async () => {
    const paths = ["/multi/a", "/multi/b"] as const;
    const theirs = await client.multiLock(paths);
    const locks = await fixture.ours();
    const [a, b] = paths.map((path) => locks.mutex(path)) as [
      ReturnType<typeof locks.mutex>,
      ReturnType<typeof locks.mutex>,
    ];
    const held = await b.acquire({ waitMs });
    expect(await theirs.acquire({ waitMs: 100 })).toBe(false);
    const free = await a.tryAcquire();
    expect(free).not.toBeNull();
    await free?.release();

    const waiting = watched(theirs.acquire());
    await expect.poll(async () => (await b.inspect()).pendingTotal, { timeout: 10_000 }).toBe(1);
    expect(waiting.granted).toBe(false);
    expect(await a.tryAcquire()).toBeNull();
    await held.release();
    expect(await waiting.grant).toBe(true);
    expect([await a.tryAcquire(), await b.tryAcquire()]).toEqual([null, null]);
    await theirs.release();
    const both = [await a.acquire({ waitMs: 5_000 }), await b.acquire({ waitMs: 5_000 })];
    for (const lock of both) await lock.release();
  });

  it("make the same tree", async () => {
    const theirs = await client.multiLock(["/multi-curator/a", "/multi-curator/b"]);
    await theirs.acquire();
    const locks = await fixture.ours();
    const held = await multiLock(
      ["/multi-ours/b", "/multi-ours/a"].map((path) => locks.mutex(path)),
    ).acquire();
    // Our nodes are made all at once, Curator's one by one. So the order in which the levels were made is not compared.
    const tree = async (root: string) => shape(await client.dump(root), root, { numbers: true }).sort();
    const ours = await tree("/multi-ours");
    expect(ours).toEqual(await tree("/multi-curator"));
    expect(ours).toHaveLength(5);
    await held.release();
    await theirs.release();
  });

  const fullGrants = 1_000;
  it(
    "exclude ours: no update of a file is lost that all of them protect",
    async () => {
      const what = `grants beside multi locks of Curator ${fixture.java.curatorVersion}`;
      const total = share(what, 40, fullGrants);
      const withinMs = 60_000 + total * 300;
      await using log = await ContentionLog.start();
      const path = "/multi/count";
      const contention = { path, ...log.files, grants: total / 4 };
      const clients = [client, await fixture.curator()];
      const providers = [await fixture.ours(), await fixture.ours()];
      const keeper = await fixture.ours();
      // Of those that take both members, one gets the first and waits for the last. The others wait for the first.
      const members = ["a", "b"].map((name) => keeper.mutex(`${path}/${name}`));
      const held = await keeper.mutex(`${path}/b`).acquire({ waitMs });
      const gate = {
        async queued() {
          const views = await Promise.all(members.map((member) => member.inspect()));
          return views.reduce((sum, { pendingTotal }) => sum + (pendingTotal ?? 0), 0);
        },
        open: () => held.release(),
      };
      await behind(gate, [
        ...clients.map((each, at) =>
          each.contend({ ...contention, label: `curator-${at}` }, withinMs, "multiLock"),
        ),
        ...providers.map((locks, at) => {
          // One of our providers takes both members, the other one only the last. The last member alone must keep the others out.
          const last = locks.mutex(`${path}/b`);
          const both = multiLock([last, locks.mutex(`${path}/a`)]);
          const acquire = async (wait: { waitMs: number }) => {
            if (at > 0) return await last.acquire(wait);
            const handle = await both.acquire(wait);
            const [, { token }] = handle.parts as [LockHandle, LockHandle];
            return { token, release: () => handle.release() };
          };
          return contendBy(acquire, { ...contention, label: `ours-${at}` });
        }),
      ]);
      const grants = await log.expectOrderly(total);
      const kind = (at: number): string | undefined => grants[at]?.label.slice(0, 4);
      const acrossKinds = grants.filter((_, at) => at > 0 && kind(at) !== kind(at - 1)).length;
      console.log(`${total} grants, ${acrossKinds} hand-overs between Curator and us`);
      expect(acrossKinds).toBeGreaterThan(total / 10);
    },
    60_000 + fullGrants * 350,
  );
});
