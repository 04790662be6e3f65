import { LayoutConflictError } from "@holdfast/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CuratorClient, curatorVersionsInShare } from "../support/curator/java-peer.js";
import { share } from "../support/share.js";
import { InteropFixture } from "./fixture.js";
import { shape } from "./shape.js";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

describe.each(await curatorVersionsInShare())("values shared with Curator %s", (curator) => {
  let fixture: InteropFixture;
  let client: CuratorClient;

  beforeAll(async () => {
    fixture = await InteropFixture.start(curator);
    client = await fixture.curator();
  });

  afterAll(() => fixture?.close());

  it("a count: the first seed wins, and each hears of the other's sets", async () => {
    const path = "/values/count";
    const theirs = await client.sharedCount(path, 6);
    await theirs.start();
    const locks = await fixture.ours();
    const ours = locks.sharedCount(path, 7);
    expect((await ours.get()).value).toBe(6);
    const end = new AbortController();
    const seen = ours.observe({ signal: end.signal })[Symbol.asyncIterator]();
    expect((await seen.next()).value?.value).toBe(6);
    await theirs.set(-2);
    expect((await seen.next()).value?.value).toBe(-2);
    await ours.set(2 ** 31 - 1);
    expect((await seen.next()).value?.value).toBe(2 ** 31 - 1);
    await expect.poll(() => theirs.changes.at(-1)).toBe(2 ** 31 - 1);
    end.abort();
    await theirs.close();

    const second = locks.sharedCount("/values/count-of-ours", -(2 ** 31));
    expect((await second.get()).value).toBe(-(2 ** 31));
    const late = await client.sharedCount("/values/count-of-ours", 3);
    await late.start();
    expect((await late.get()).value).toBe(-(2 ** 31));
    await late.close();
  });

  it("a count: a versioned set fails when the other kind has written since, also the same value", async () => {
    const path = "/values/versions";
    const theirs = await client.sharedCount(path, 1);
    await theirs.start();
    const ours = (await fixture.ours()).sharedCount(path, 1);
    const [mine, yours] = [await ours.get(), await theirs.get()];
    await theirs.set(1);
    expect(await ours.trySet(mine, 2)).toBe(false);
    const now = await ours.get();
    expect(now.version).toBeGreaterThan(mine.version);
    expect(await ours.trySet(now, 2)).toBe(true);
    expect(await theirs.trySet(yours, 3)).toBe(false);
    await expect.poll(async () => (await theirs.get()).value).toBe(2);
    expect(await theirs.trySet(await theirs.get(), 3)).toBe(true);
    expect((await ours.get()).value).toBe(3);
    await theirs.close();
  });

  it("a count: versioned additions of both kinds lose none", async () => {
    const path = "/values/additions";
    const total = share(`versioned additions with Curator ${fixture.java.curatorVersion}`, 100, 1_000);
    const locks = [await fixture.ours(), await fixture.ours()];
    const clients = [client, await fixture.curator()];
    await Promise.all([
      ...locks.map(async (each) => {
        const count = each.sharedCount(path, 0);
        for (let done = 0; done < total / 4; ) {
          const seen = await count.get();
          if (await count.trySet(seen, seen.value + 1)) done += 1;
        }
      }),
      ...clients.map(async (each) => {
        const count = await each.sharedCount(path, 0);
        await count.start();
        for (let done = 0; done < total / 4; ) {
          const seen = await count.get();
          if (await count.trySet(seen, seen.value + 1)) done += 1;
        }
        await count.close();
      }),
    ]);
    expect((await (locks[0] as (typeof locks)[number]).sharedCount(path, 0).get()).value).toBe(total);
  });

  it("a value: any bytes, none too, and each hears of the other's sets", async () => {
    const path = "/values/bytes";
    const ours = (await fixture.ours()).sharedValue(path, bytes(1, 2, 3));
    await ours.get();
    const theirs = await client.sharedValue(path, bytes(9));
    await theirs.start();
    const seen = await theirs.get();
    expect(seen.value).toEqual(bytes(1, 2, 3));
    await ours.set(bytes());
    await expect.poll(() => theirs.changes).toEqual([bytes()]);
    expect(await theirs.trySet(seen, bytes(4))).toBe(false);
    expect(await theirs.trySet(await theirs.get(), bytes(0, 255))).toBe(true);
    const now = await ours.get();
    expect(now.value).toEqual(bytes(0, 255));
    expect(await ours.trySet(now, bytes(7))).toBe(true);
    await expect.poll(async () => (await theirs.get()).value).toEqual(bytes(7));
    await theirs.close();
  });

  it("a number: what either does, the other reads", async () => {
    const path = "/values/number";
    const theirs = await client.atomicLong(path);
    const ours = (await fixture.ours()).atomicLong(path);
    expect([await ours.get(), (await theirs.get()).after]).toEqual([0n, 0n]);
    // An absent number reads as 0, but neither `compareAndSet` takes it for a 0.
    expect(await ours.compareAndSet(0n, 1n)).toBe(false);
    expect((await theirs.compareAndSet(0n, 1n)).succeeded).toBe(false);
    expect(await ours.add(42n)).toBe(42n);
    expect(await theirs.initialize(1n)).toBe(false);
    expect(await theirs.add(-43n)).toEqual({ succeeded: true, before: 42n, after: -1n });
    expect(await ours.get()).toBe(-1n);
    expect(await ours.compareAndSet(-1n, 2n ** 63n - 1n)).toBe(true);
    expect((await theirs.compareAndSet(2n ** 63n - 1n, -(2n ** 63n))).succeeded).toBe(true);
    expect(await ours.get()).toBe(-(2n ** 63n));
    await ours.set(5n);
    expect((await theirs.get()).after).toBe(5n);
    await theirs.forceSet(6n);
    expect(await ours.compareAndSet(5n, 7n)).toBe(false);
    expect(await ours.get()).toBe(6n);
  });

  it("a number: many additions of both kinds lose none that was confirmed", async () => {
    const path = "/values/sum";
    const each = share(`additions of each to a number with Curator ${fixture.java.curatorVersion}`, 25, 250);
    const locks = [await fixture.ours(), await fixture.ours()];
    const numbers = await Promise.all([client, await fixture.curator()].map((one) => one.atomicLong(path)));
    const ours = locks.map(async (one) => {
      const number = one.atomicLong(path);
      for (let time = 0; time < each; time += 1) await number.add(1n);
      return each;
    });
    // Curator gives an addition up after some tries, and its answer says so.
    const added = await Promise.all([...ours, ...numbers.map((number) => number.increment(each, 60_000))]);
    const sum = added.reduce((all, one) => all + one, 0);
    console.log(`${added.join(" + ")} additions of ${4 * each} succeeded`);
    expect((await (numbers[0] as (typeof numbers)[number]).get()).after).toBe(BigInt(sum));
    expect(sum).toBeGreaterThan(2 * each);
  });

  it("make the same trees, byte by byte", async () => {
    const locks = await fixture.ours();
    for (const [root, make] of [
      [
        "/values-curator",
        async (path: string) => {
          const count = await client.sharedCount(`${path}/count`, -2);
          await count.start();
          const value = await client.sharedValue(`${path}/value`, bytes(0, 255));
          await value.start();
          await (await client.atomicLong(`${path}/number`)).forceSet(-1n);
        },
      ],
      [
        "/values-ours",
        async (path: string) => {
          await locks.sharedCount(`${path}/count`, -2).get();
          await locks.sharedValue(`${path}/value`, bytes(0, 255)).get();
          await locks.atomicLong(`${path}/number`).set(-1n);
        },
      ],
    ] as const) {
      await make(`${root}/deep`);
    }
    const ours = shape(await client.dump("/values-ours"), "/values-ours", { data: true });
    expect(ours).toEqual(shape(await client.dump("/values-curator"), "/values-curator", { data: true }));
    expect(ours).toEqual([
      ' lasting - 31:world:anyone ""',
      '/deep lasting - 31:world:anyone ""',
      '/deep/count lasting - 31:world:anyone "\xff\xff\xff\xfe"',
      '/deep/value lasting - 31:world:anyone "\\u0000\xff"',
      `/deep/number lasting - 31:world:anyone "${"\xff".repeat(8)}"`,
    ]);
  });

  it("ours refuses what is no number, where Curator reads on", async () => {
    await client.put("/values/text", "abc");
    const locks = await fixture.ours();
    await expect(locks.atomicLong("/values/text").get()).rejects.toBeInstanceOf(LayoutConflictError);
    await expect(locks.sharedCount("/values/text", 1).get()).rejects.toBeInstanceOf(LayoutConflictError);
    await expect((await client.atomicLong("/values/text")).get()).rejects.toThrow(/Corrupted|Underflow/);
  });
});
