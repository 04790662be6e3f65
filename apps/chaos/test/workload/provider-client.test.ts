import { memoryLocks } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import type { ObjectKind } from "../../src/history/record.js";
import type { Ask, Client } from "../../src/workload/recipe.js";
import { providerClient } from "../../src/workload/recipes/provider-client.js";

const ask = (kind: ObjectKind, more: Partial<Ask> = {}): Ask => ({
  key: { id: "k", name: `k-${kind}`, kind, backend: "zookeeper", limit: 2, leaseMs: 1_000 },
  label: "w0#0:1",
  mode: "write",
  once: false,
  permits: 1,
  waitMs: undefined,
  thread: "c0",
  signal: new AbortController().signal,
  ...more,
});

const open = (): Client => providerClient(memoryLocks(), { tell: () => {} });

describe("a provider of ours as a client", () => {
  it.each(["mutex", "fair", "reentrant", "read-write", "redlock", "multi"] as const)(
    "lets one in to a %s at a time",
    async (kind) => {
      const client = open();
      const first = await client.acquire(ask(kind));
      await expect(client.acquire(ask(kind, { waitMs: 1, thread: "c1" }))).rejects.toMatchObject({
        code: "HF_ACQUIRE_TIMEOUT",
      });
      expect(await first?.release()).toMatchObject({ end: "ok" });
      await expect(client.acquire(ask(kind, { waitMs: 1_000 }))).resolves.not.toBeNull();
      await client.close();
    },
  );

  it("counts a re-entrant owner's holds, in and out", async () => {
    const client = open();
    const outer = await client.acquire(ask("reentrant"));
    const inner = await client.acquire(ask("reentrant"));
    expect([outer?.count, inner?.count]).toEqual([1, 2]);
    expect(await inner?.release()).toEqual({ end: "ok", count: 1 });
    expect(await outer?.release()).toEqual({ end: "ok", count: 0 });
    await client.close();
  });

  it("takes as many permits as it is asked for, and no more than there are", async () => {
    const client = open();
    const both = await client.acquire(ask("semaphore", { permits: 2 }));
    expect(await client.acquire(ask("semaphore", { once: true }))).toBeNull();
    await both?.release();
    await client.close();
  });

  it("lets readers in together, and makes a read of a write", async () => {
    const client = open();
    const write = await client.acquire(ask("read-write"));
    const read = await write?.downgrade?.();
    await expect(client.acquire(ask("read-write", { mode: "read", waitMs: 1_000 }))).resolves.not.toBeNull();
    expect(read?.token).toBe(write?.token);
    await client.close();
  });

  it("says what it keeps, and gives each owner of a kept lock a number of its own that rises", async () => {
    // The lock is kept for longer than the test takes, however slow the machine is.
    const locks = memoryLocks({ keepMs: 600_000, maxKeepMs: 600_000, fenceBy: "token-and-turn" });
    const client = providerClient(locks, { tell: () => {} }, { turns: true });
    const seen: { token: bigint; kept: boolean }[] = [];
    for (let turn = 0; turn < 4; turn++) {
      const grant = await client.acquire(ask("read-write"));
      const end = await grant?.release();
      seen.push({ token: grant?.token ?? 0n, kept: end?.end === "ok" && end.kept === true });
    }
    expect(seen.map(({ kept }) => kept)).toEqual([false, true, true, true]);
    const [first, second, third, fourth] = seen.map(({ token }) => token) as [bigint, bigint, bigint, bigint];
    expect([first < second, third - second, fourth - third]).toEqual([true, 1n, 1n]);
    const write = await client.acquire(ask("read-write"));
    expect((await write?.downgrade?.())?.token).toBe(write?.token);
    await client.close();
  });

  it("refuses by null what is asked for once, and calls only a mistake of the scenario broken", async () => {
    const client = open();
    await client.acquire(ask("mutex"));
    expect(await client.acquire(ask("mutex", { once: true }))).toBeNull();
    const meaning = async (asked: Ask): Promise<string> =>
      client.acquire(asked).then(
        () => "granted",
        (error: unknown) => client.meaning(error),
      );
    expect(await meaning(ask("mutex", { waitMs: 1 }))).toBe("fail");
    expect(await meaning(ask("mutex", { waitMs: -1 }))).toBe("broken");
    const abort = new AbortController();
    const given = meaning(ask("mutex", { signal: abort.signal }));
    abort.abort(new Error("over"));
    expect(await given).toBe("fail");
    await client.close();
    expect(await meaning(ask("mutex"))).toBe("info");
  });
});
