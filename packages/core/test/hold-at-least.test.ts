import { BackendError, InvalidArgumentError, memoryLocks } from "@holdfast/core";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { ScriptedGrant, scripted } from "./scripted-driver.js";

async function held(lease: "session" | "ttl", holdAtLeastMs: number, options = {}) {
  const runtime = simulatedRuntime(20);
  const made = scripted(runtime, lease, { leaseMs: 3_000 });
  const grant = new ScriptedGrant(runtime.nowMs() + (lease === "ttl" ? 3_000 : 1e9));
  const acquired = made.provider.mutex("a").acquire({ holdAtLeastMs, ...options });
  made.last().granted.resolve(grant);
  const told: string[] = [];
  for (const type of ["released", "lost", "renewed", "renew-failed", "revoke-requested"] as const) {
    made.provider.events.on(type, () => told.push(type));
  }
  return { runtime, grant, handle: await acquired, told, ...made };
}

/** Answers the newest renewal as Redis does: the hold is valid for its lease, less 1 % and 2 ms. */
function answer(runtime: SimulatedRuntime, grant: ScriptedGrant): number {
  const leaseMs = grant.renewals.at(-1)?.leaseMs ?? 0;
  grant.renewed(runtime.nowMs() + leaseMs - leaseMs / 100 - 2);
  return leaseMs;
}

describe("a hold with holdAtLeastMs that is released early", () => {
  it("asks nothing more of a lease that lasts long enough, and gives the lock back when the time is over", async () => {
    const { runtime, grant, handle, told } = await held("ttl", 2_000);
    await runtime.advance(100);
    expect(await handle.release()).toBe("still-held");
    await runtime.advance(1_899);
    expect(grant).toMatchObject({ renewals: [], releases: [] });
    await runtime.advance(1);
    expect(grant.releases).toHaveLength(1);
    expect(grant.renewals).toEqual([]);
    expect(told).toEqual(["released"]);
  });

  it("has a shorter lease extended once to the rest of the time, and not renewed after that", async () => {
    const { runtime, grant, handle, told } = await held("ttl", 60_000);
    expect(await handle.release()).toBe("still-held");
    await runtime.advance(0);
    expect(answer(runtime, grant)).toBeGreaterThanOrEqual(60_000);
    expect(grant.renewals[0]?.leaseMs).toBeLessThan(62_000);
    await runtime.advance(59_999);
    expect(grant.renewals).toHaveLength(1);
    expect(grant.releases).toEqual([]);
    await runtime.advance(1);
    expect(grant.releases).toHaveLength(1);
    expect(told).toEqual(["released"]);
  });

  it("is extended again by the clock while the extension fails, or while it gets less than it asked for", async () => {
    const { runtime, grant, handle } = await held("ttl", 9_000);
    await handle.release();
    await runtime.advance(0);
    grant.renewals[0]?.answer.reject(new BackendError("no answer", { backend: "memory" }));
    await runtime.advance(300);
    expect(grant.renewals).toHaveLength(2);
    // Answers as RedLock does, which grants no lease above its longest one.
    grant.renewed(runtime.nowMs() + 3_000);
    await runtime.advance(1_000);
    expect(grant.renewals).toHaveLength(3);
    expect(answer(runtime, grant)).toBeGreaterThanOrEqual(7_700);
    await runtime.advance(7_699);
    expect(grant.renewals).toHaveLength(3);
    expect(grant.releases).toEqual([]);
    await runtime.advance(1);
    expect(grant.releases).toHaveLength(1);
  });

  it("has its lease extended at once behind a renewal that was sent before the release and asked for one lease", async () => {
    const { runtime, grant, handle } = await held("ttl", 60_000);
    await runtime.advance(1_000);
    await handle.release();
    await runtime.advance(10);
    expect(answer(runtime, grant)).toBe(3_000);
    await runtime.advance(0);
    expect(grant.renewals).toHaveLength(2);
    expect(answer(runtime, grant)).toBeGreaterThanOrEqual(58_990);
  });

  it("asks for the longer lease without leave for the driver to settle that by a fresh one, also when it tries again", async () => {
    const { runtime, grant, handle } = await held("ttl", 60_000);
    await runtime.advance(1_000);
    expect(answer(runtime, grant)).toBe(3_000);
    await handle.release();
    await runtime.advance(0);
    grant.renewals[1]?.answer.reject(new BackendError("no answer", { backend: "memory" }));
    await runtime.advance(300);
    expect(grant.renewals.map(({ due }) => due)).toEqual([true, false, false]);
    answer(runtime, grant);
  });

  it("is left alone with renew: false, whose lease is long enough by itself", async () => {
    const { runtime, grant, handle } = await held("ttl", 3_000, { renew: false });
    expect(await handle.release()).toBe("still-held");
    await runtime.advance(3_000);
    expect(grant.renewals).toEqual([]);
    expect(grant.releases).toHaveLength(1);
  });

  it("is cleaned up once when it is lost meanwhile, and its owner hears nothing of that", async () => {
    const { runtime, grant, handle, told, provider } = await held("session", 5_000, { revocable: true });
    const { lost, revokeRequested } = handle;
    await handle.release();
    grant.listener({ type: "revoke-requested" });
    grant.listener({ type: "uncertain" });
    grant.listener({ type: "lost", reason: "session-expired" });
    expect(grant.releases).toHaveLength(1);
    await runtime.advance(10_000);
    expect(grant.releases).toHaveLength(1);
    expect([lost.aborted, revokeRequested.aborted, handle.state]).toEqual([false, false, "released"]);
    expect(told).toEqual(["released"]);
    expect(await provider.close()).toEqual({ released: 0, unconfirmed: [] });
  });

  it("is over for its scope and its owner: both ask the backend again, and queue behind it", async () => {
    const locks = memoryLocks();
    const lock = locks.reentrantMutex("a");
    await lock.withLock({ holdAtLeastMs: 60_000 }, async (handle) => {
      expect(await handle.release()).toBe("still-held");
      expect(lock.holdCount()).toBe(0);
      expect(await lock.tryAcquire({ owner: handle.owner })).toBeNull();
    });
    await locks.close();
  });
});

describe("holdAtLeastMs", () => {
  it("counts from each entry into a re-entrant lock, and the latest end applies", async () => {
    const runtime = simulatedRuntime(1);
    const locks = memoryLocks({ runtime });
    const lock = locks.reentrantMutex("a");
    const outer = await lock.acquire({ holdAtLeastMs: 1_000 });
    await runtime.advance(900);
    const inner = await lock.acquire({ owner: outer.owner, holdAtLeastMs: 500 });
    expect(await inner.release()).toBe("still-held");
    await runtime.advance(300);
    expect(await outer.release()).toBe("still-held");
    await runtime.advance(199);
    expect(await lock.tryAcquire()).toBeNull();
    await runtime.advance(1);
    expect((await lock.tryAcquire())?.state).toBe("held");
  });

  it("of a view applies to its calls, and 0 in a call takes it back", async () => {
    const locks = memoryLocks();
    const lock = locks.mutex("a", { holdAtLeastMs: 60_000 });
    expect(await (await lock.acquire({ holdAtLeastMs: 0 })).release()).toBe("released");
    expect(await (await lock.acquire()).release()).toBe("still-held");
    await locks.close();
  });

  it("is refused when it is no time, and when renew: false ends the hold before", async () => {
    const lock = scripted(simulatedRuntime(20), "ttl", { leaseMs: 3_000 }).provider.mutex("a");
    const wrong: [object, RegExp][] = [
      [{ holdAtLeastMs: -1 }, /holdAtLeastMs must be a number of milliseconds, 0 or more and finite; got -1/],
      [{ holdAtLeastMs: Infinity }, /holdAtLeastMs .* got Infinity/],
      [{ holdAtLeastMs: "1s" }, /holdAtLeastMs .* got "1s"/],
      [
        { holdAtLeastMs: 2_000, leaseMs: 1_000, renew: false },
        /with renew: false the hold ends after leaseMs = 1000, so holdAtLeastMs = 2000 is too long/,
      ],
    ];
    for (const [options, message] of wrong) {
      const refused = expect(lock.acquire(options)).rejects;
      await refused.toThrow(message);
      await expect(lock.withLock(options, () => {})).rejects.toBeInstanceOf(InvalidArgumentError);
    }
  });

  it("lets one of three replicas run a short job whose clocks are 120 ms apart", async () => {
    const runtime = simulatedRuntime(1);
    const locks = memoryLocks({ runtime });
    const runs: string[] = [];
    const nightly = async (replica: string): Promise<void> => {
      const lock = await locks.mutex("nightly").tryAcquire({ holdAtLeastMs: 10_000 });
      if (lock === null) return;
      runs.push(replica);
      await lock.release();
    };
    for (const night of [1, 2]) {
      for (const [replica, lateMs] of [
        ["first", 0],
        ["second", 50],
        ["third", 70],
      ] as const) {
        await runtime.advance(lateMs);
        await nightly(`${replica}, night ${night}`);
      }
      await runtime.advance(86_400_000);
    }
    expect(runs).toEqual(["first, night 1", "first, night 2"]);
  });
});
