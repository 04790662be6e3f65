import { AcquireTimeoutError, LockLostError } from "@holdfast/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CuratorClient, curatorVersionsInShare } from "../support/curator/java-peer.js";
import { InteropFixture, watched } from "./fixture.js";
import { shape } from "./shape.js";

const waitMs = 30_000;

describe.each(await curatorVersionsInShare())("barriers shared with Curator %s", (curator) => {
  let fixture: InteropFixture;
  let client: CuratorClient;

  beforeAll(async () => {
    fixture = await InteropFixture.start(curator);
    client = await fixture.curator();
  });

  afterAll(() => fixture?.close());

  /** The nodes of the members at a double barrier. */
  async function standing(path: string): Promise<string[]> {
    const nodes = await client.dump(path);
    return nodes.filter((node) => node.ephemeralOwner !== 0n).map((node) => node.path);
  }

  async function untilStanding(path: string, count: number): Promise<void> {
    await expect.poll(() => standing(path), { timeout: 10_000 }).toHaveLength(count);
  }

  /** Which of the calls have been granted so far. */
  function passed(entering: readonly { readonly granted: boolean }[]): boolean[] {
    return entering.map(({ granted }) => granted);
  }

  it("one that Curator sets stops ours, and ours goes on when Curator removes it", async () => {
    const path = "/barrier/theirs";
    const theirs = await client.barrier(path);
    await theirs.set();
    const locks = await fixture.ours();
    const barrier = locks.barrier(path);
    await expect(barrier.wait({ waitMs: 500 })).rejects.toBeInstanceOf(AcquireTimeoutError);
    const waiting = watched(barrier.wait({ waitMs }));
    // A second set changes nothing, in ours as in Curator.
    await barrier.shut();
    await theirs.set();
    expect(waiting.granted).toBe(false);
    await theirs.remove();
    await waiting.grant;
    await barrier.wait({ waitMs: 0 });
    await theirs.remove();
  });

  it("one that ours shuts stops Curator, and Curator goes on when ours opens it, also from another session", async () => {
    const path = "/barrier/ours";
    const theirs = await client.barrier(path);
    const first = await fixture.ours();
    await first.barrier(path).shut();
    await first.close();
    expect(await theirs.wait({ waitMs: 50 })).toBe(false);
    const waiting = watched(theirs.wait());
    const second = (await fixture.ours()).barrier(path);
    await expect(second.wait({ waitMs: 500 })).rejects.toBeInstanceOf(AcquireTimeoutError);
    expect(waiting.granted).toBe(false);
    await second.open();
    expect(await waiting.grant).toBe(true);
  });

  it("make the same tree when shut", async () => {
    await (await client.barrier("/barrier-curator/tree")).set();
    await (await fixture.ours()).barrier("/barrier-ours/tree").shut();
    const ours = shape(await client.dump("/barrier-ours"), "/barrier-ours");
    expect(ours).toEqual(shape(await client.dump("/barrier-curator"), "/barrier-curator"));
    expect(ours).toEqual([" lasting - 31:world:anyone", "/tree lasting - 31:world:anyone"]);
  });

  // The member that comes last makes `ready`. In some cases that is ours, in the others Curator's.
  it.each([
    ["Curator", ["ours", "theirs", "theirs"]],
    ["ours", ["theirs", "ours", "ours"]],
    ["ours, alone among Curator's", ["theirs", "theirs", "ours"]],
    ["Curator, alone among ours", ["ours", "ours", "theirs"]],
  ] as const)(
    "a double barrier: all enter and leave together when the last to come is %s",
    async (last, kinds) => {
      const path = `/double-barrier/${last.replaceAll(/\W/g, "-")}`;
      const members: { enter(): Promise<() => Promise<unknown>> }[] = [];
      for (const kind of kinds) {
        if (kind === "ours") {
          const barrier = (await fixture.ours()).doubleBarrier(path, kinds.length);
          members.push({
            async enter() {
              const membership = await barrier.enter({ waitMs });
              return () => membership.leave({ waitMs });
            },
          });
        } else {
          const barrier = await (await fixture.curator()).doubleBarrier(path, kinds.length);
          members.push({
            async enter() {
              expect(await barrier.enter()).toBe(true);
              return async () => expect(await barrier.leave()).toBe(true);
            },
          });
        }
      }
      const entering: { readonly granted: boolean; readonly grant: Promise<() => Promise<unknown>> }[] = [];
      const nodes: string[] = [];
      for (const [at, member] of members.entries()) {
        expect(passed(entering)).toEqual(entering.map(() => false));
        entering.push(watched(member.enter()));
        await untilStanding(path, at + 1);
        nodes.push((await standing(path)).find((node) => !nodes.includes(node)) as string);
      }
      const leave = await Promise.all(entering.map(({ grant }) => grant));

      // A member that leaves deletes its node at once and waits. Only the one with the lowest name keeps its node while it waits.
      const lowest = nodes.toSorted()[0];
      const leaving: { readonly granted: boolean; readonly grant: Promise<unknown> }[] = [];
      for (const [at, each] of leave.entries()) {
        expect(passed(leaving)).toEqual(leaving.map(() => false));
        leaving.push(watched(each()));
        const last = at + 1 === leave.length;
        if (!last && nodes[at] !== lowest) await expect.poll(() => standing(path)).not.toContain(nodes[at]);
      }
      await Promise.all(leaving.map(({ grant }) => grant));
      expect(await client.dump(path)).toHaveLength(1);
    },
  );

  it("a double barrier makes the same tree once all have entered", async () => {
    const [theirPath, ourPath] = ["/double-barrier-curator/tree", "/double-barrier-ours/tree"];
    const theirs = await Promise.all(
      [client, await fixture.curator()].map((each) => each.doubleBarrier(theirPath, 2)),
    );
    const ours = [await fixture.ours(), await fixture.ours()].map((locks) => locks.doubleBarrier(ourPath, 2));
    const entered: Promise<boolean>[] = [];
    const members: ReturnType<(typeof ours)[number]["enter"]>[] = [];
    for (const at of [0, 1] as const) {
      entered.push((theirs[at] as (typeof theirs)[number]).enter());
      members.push((ours[at] as (typeof ours)[number]).enter({ waitMs }));
      await untilStanding(theirPath, at + 1);
      await untilStanding(ourPath, at + 1);
    }
    expect(await Promise.all(entered)).toEqual([true, true]);
    const inside = await Promise.all(members);
    const tree = shape(await client.dump(ourPath), ourPath);
    expect(tree).toEqual(shape(await client.dump(theirPath), theirPath));
    expect(tree).toEqual([
      " lasting - 31:world:anyone",
      "/<uuid> ephemeral session 1 31:world:anyone",
      "/<uuid> ephemeral session 2 31:world:anyone",
      "/ready lasting - 31:world:anyone",
    ]);
    await Promise.all([
      ...theirs.map((each) => each.leave()),
      ...inside.map((each) => each.leave({ waitMs })),
    ]);
    for (const path of [theirPath, ourPath]) expect(await client.dump(path)).toHaveLength(1);
  });

  it("more members than needed pass, of either kind", async () => {
    const path = "/double-barrier/more";
    const first = await client.doubleBarrier(path, 2);
    const second = (await fixture.ours()).doubleBarrier(path, 2);
    const entering = first.enter();
    const membership = await second.enter({ waitMs });
    expect(await entering).toBe(true);
    const third = await (await fixture.curator()).doubleBarrier(path, 2);
    expect(await third.enter({ waitMs: 5_000 })).toBe(true);
    const fourth = await (await fixture.ours()).doubleBarrier(path, 2).enter({ waitMs: 5_000 });
    await untilStanding(path, 4);
    await Promise.all([first.leave(), third.leave(), membership.leave({ waitMs }), fourth.leave({ waitMs })]);
    expect(await client.dump(path)).toHaveLength(1);
  });

  it("our member whose session has ended hears of it, and Curator's are not held up by it", async () => {
    const path = "/double-barrier/session";
    const mortal = await fixture.oursOverClient(8_000);
    const theirs = await client.doubleBarrier(path, 2);
    const entering = theirs.enter();
    const membership = await mortal.locks.doubleBarrier(path, 2).enter({ waitMs });
    expect(await entering).toBe(true);
    const { lost } = membership;
    const leaving = watched(theirs.leave());
    await fixture.expire(mortal.session());
    expect(await leaving.grant).toBe(true);
    await expect.poll(() => lost.aborted, { timeout: 10_000, interval: 5 }).toBe(true);
    expect(lost.reason).toBeInstanceOf(LockLostError);
  });
});
