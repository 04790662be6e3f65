import type { LockHandle } from "@holdfast/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CuratorClient, curatorVersions } from "../support/java-peer.js";
import { share } from "../support/share.js";
import { ContentionLog } from "./contention-log.js";
import { InteropFixture, watched } from "./fixture.js";
import { contendBy } from "./our-contenders.js";
import { shape } from "./shape.js";

const waitMs = 30_000;

/** Curator's multi lock is nothing but mutexes, taken one after the other: ours takes them by their names. */
describe.each(await curatorVersions())("the members of a multi lock of Curator %s", (curator) => {
  let fixture: InteropFixture;
  let client: CuratorClient;

  beforeAll(async () => {
    fixture = await InteropFixture.start(curator);
    client = await fixture.curator();
  });

  afterAll(() => fixture?.close());

  it("are mutexes to ours: all or none", async () => {
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

  it("make the same tree as our mutexes of the same names", async () => {
    const theirs = await client.multiLock(["/multi-curator/a", "/multi-curator/b"]);
    await theirs.acquire();
    const locks = await fixture.ours();
    const held: LockHandle[] = [];
    for (const path of ["/multi-ours/a", "/multi-ours/b"])
      held.push(await locks.mutex(path).acquire({ waitMs }));
    const ours = shape(await client.dump("/multi-ours"), "/multi-ours", { numbers: true });
    expect(ours).toEqual(shape(await client.dump("/multi-curator"), "/multi-curator", { numbers: true }));
    expect(ours).toHaveLength(5);
    for (const lock of held) await lock.release();
    await theirs.release();
  });

  const fullGrants = 1_000;
  it(
    "exclude ours: no update of a file is lost that all of them protect",
    async () => {
      const what = `grants beside multi locks of Curator ${fixture.java.curatorVersion}`;
      const total = share(what, 60, fullGrants);
      const withinMs = 60_000 + total * 300;
      await using log = await ContentionLog.start();
      const path = "/multi/count";
      const contention = { path, ...log.files, grants: total / 4 };
      const clients = [client, await fixture.curator()];
      const providers = [await fixture.ours(), await fixture.ours()];
      await Promise.all([
        ...clients.map((each, at) =>
          each.contend({ ...contention, label: `curator-${at}` }, withinMs, "multiLock"),
        ),
        ...providers.map((locks, at) => {
          const first = locks.mutex(`${path}/a`);
          // One of ours takes both, the other one only the last member: that alone must keep the rest out.
          const last = locks.mutex(`${path}/b`);
          const acquire = async (wait: {
            waitMs: number;
          }): Promise<Pick<LockHandle, "token" | "release">> => {
            const outer = at === 0 ? await first.acquire(wait) : null;
            const inner = await last.acquire(wait);
            return {
              token: inner.token,
              async release() {
                const outcome = await inner.release();
                await outer?.release();
                return outcome;
              },
            };
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
