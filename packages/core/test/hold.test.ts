import {
  BackendError,
  type LockHandle,
  LockLostError,
  type LockProvider,
  memoryLocks,
  NotHeldError,
} from "@holdfast/core";
import { Handle } from "@holdfast/core/internal";
import { memoryControls, type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it, vi } from "vitest";
import { ScriptedGrant, scripted } from "./scripted-driver.js";

async function held(lease: "session" | "ttl", settings: Parameters<typeof scripted>[2] = {}, options = {}) {
  const runtime = simulatedRuntime(20);
  const made = scripted(runtime, lease, { leaseMs: 3_000, ...settings });
  const grant = new ScriptedGrant(runtime.nowMs() + 3_000);
  const acquired = made.provider.mutex("a").acquire(options);
  made.last().granted.resolve(grant);
  return { runtime, grant, handle: await acquired, ...made };
}

function recorded(
  provider: LockProvider,
  type: "renewed" | "uncertain" | "recovered" | "renew-failed" | "lost" | "release-failed" | "released",
) {
  const seen: unknown[] = [];
  provider.events.on(type, (event) => seen.push(event));
  return seen;
}

const outage = () => new BackendError("no answer", { backend: "memory" });

describe("a lease", () => {
  it("is renewed at a third, one request at a time, and each tenth after a failure", async () => {
    const { runtime, grant, handle, provider } = await held("ttl");
    const renewed = recorded(provider, "renewed");
    const failed = recorded(provider, "renew-failed");
    await runtime.advance(999);
    expect(grant.renewals).toHaveLength(0);
    await runtime.advance(1);
    expect(grant.renewals).toHaveLength(1);
    await runtime.advance(900);
    expect(grant.renewals).toHaveLength(1);
    grant.renewals[0]?.answer.reject(outage());
    await runtime.advance(299);
    expect(grant.renewals).toHaveLength(1);
    await runtime.advance(1);
    expect(grant.renewals).toHaveLength(2);
    grant.renewed(runtime.nowMs() + 3_000);
    await runtime.advance(1_000);
    expect(grant.renewals).toHaveLength(3);
    expect(handle.state).toBe("held");
    expect(failed).toMatchObject([{ marginMs: 1_100 }]);
    expect(renewed).toMatchObject([{ marginMs: 800, tookMs: 0 }]);
  });

  it("is lost at its deadline when renewals hang, and the entry is given back", async () => {
    const { runtime, grant, handle } = await held("ttl");
    const { lost } = handle;
    await runtime.advance(2_999);
    expect(lost.aborted).toBe(false);
    await runtime.advance(1);
    expect(lost.reason).toMatchObject({ reason: "lease-expired" });
    expect(grant.releases).toHaveLength(1);
  });

  it("that is lost at its deadline is given back before a listener of the loss gets the lock anew", async () => {
    const { runtime, grant, handle, provider, requests } = await held("ttl");
    grant.releaseAnswer = undefined;
    handle.lost.addEventListener("abort", () => void provider.mutex("a").tryAcquire());
    await runtime.advance(3_000);
    expect(grant.releases).toHaveLength(1);
    expect(requests).toHaveLength(1);
    grant.releases[0]?.resolve(true);
    await runtime.advance(0);
    expect(requests).toHaveLength(2);
  });

  it("that is lost is none any more for a listener of the loss that acquires again in the name of its owner", async () => {
    const runtime = simulatedRuntime(8);
    const { provider, requests, last } = scripted(runtime, "session");
    const grant = new ScriptedGrant(1e12);
    const mutex = provider.reentrantMutex("a");
    const owner = { id: "one" };
    const acquired = mutex.acquire({ owner });
    last().granted.resolve(grant);
    const { lost } = await acquired;
    let outcome: unknown = "waits";
    lost.addEventListener("abort", () => {
      mutex.acquire({ owner }).catch((error: unknown) => {
        outcome = error;
      });
    });
    grant.listener({ type: "lost", reason: "stolen" });
    await runtime.advance(1);
    expect({ outcome, requests: requests.length }).toEqual({ outcome: "waits", requests: 2 });
  });

  it("is not revived by a renewal that is answered after the deadline, even before any timer ran", async () => {
    const { runtime, grant, handle } = await held("ttl");
    await runtime.advance(1_000);
    runtime.block(2_500);
    grant.renewed(runtime.nowMs() + 3_000);
    await runtime.advance(0);
    expect(handle.state).toBe("lost");
    expect(() => handle.assertHeld()).toThrow(LockLostError);
    expect(grant.releases.length).toBeGreaterThan(0);
  });

  it("is lost when a renewal finds it gone", async () => {
    const { runtime, grant, handle } = await held("ttl");
    await runtime.advance(1_000);
    grant.renewals[0]?.answer.resolve(null);
    await runtime.advance(0);
    expect(handle.lost.reason).toMatchObject({ reason: "lease-missing" });
    expect(grant.releases).toHaveLength(0);
  });

  it("ends where it began to end with renew: false, also after confirm()", async () => {
    const { runtime, grant, handle } = await held("ttl", {}, { renew: false });
    await runtime.advance(1_500);
    expect(grant.renewals).toHaveLength(0);
    const confirmed = handle.confirm();
    expect(grant.renewals).toMatchObject([{ leaseMs: 1_500 }]);
    grant.renewed(runtime.nowMs() + 3_000);
    await confirmed;
    expect(handle.remainingMs()).toBe(1_500);
    await runtime.advance(1_500);
    expect(handle.state).toBe("lost");
  });

  it("is in doubt when the wall clock ran ahead, until a renewal has been answered", async () => {
    const { runtime, grant, handle } = await held("ttl");
    runtime.stepWall(99);
    handle.assertHeld();
    runtime.stepWall(5_000);
    expect(() => handle.assertHeld()).toThrow(NotHeldError);
    expect(handle.state).toBe("uncertain");
    expect(handle.lost.aborted).toBe(false);
    expect(grant.renewals).toHaveLength(1);
    grant.renewed(runtime.nowMs() + 3_000);
    await runtime.advance(0);
    expect(handle.state).toBe("held");
    runtime.stepWall(-3_600_000);
    handle.assertHeld();
  });

  it("with renew: false is proven once after a jump of the clock, and not renewed after that", async () => {
    const { runtime, grant, handle } = await held("ttl", {}, { renew: false });
    runtime.stepWall(5_000);
    expect(handle.state).toBe("uncertain");
    grant.renewed(runtime.nowMs() + 3_000);
    await runtime.advance(2_999);
    expect(handle.state).toBe("held");
    expect(grant.renewals).toHaveLength(1);
  });

  it("that is a session's is never renewed by us, and lives as long as the driver says", async () => {
    const { runtime, grant, handle } = await held("session");
    await runtime.advance(2_000);
    grant.untilMs += 3_000;
    await runtime.advance(3_999);
    expect(handle.state).toBe("held");
    expect(grant.renewals).toHaveLength(0);
    await runtime.advance(1);
    expect(handle.state).toBe("lost");
  });
});

describe("a hold", () => {
  it("starts to listen for its end only when its signal is read", async () => {
    const { grant, handle } = await held("session");
    handle.assertHeld();
    expect(grant.attended).toBe(0);
    expect(handle.lost.aborted).toBe(false);
    expect(grant.attended).toBe(1);
  });

  it("is judged by the clock in the tick in which a blocked loop resumes", async () => {
    const { runtime, handle, provider } = await held("session");
    const lost = recorded(provider, "lost");
    runtime.block(3_000);
    expect(() => handle.assertHeld()).toThrow(LockLostError);
    expect(lost).toMatchObject([{ reason: "lease-expired", heldMs: 3_000 }]);
    expect(provider.holds()).toEqual([]);
  });

  it("is lost where its deadline passes between the looks of one assertHeld(), as when the process is stopped there", async () => {
    const { runtime, handle } = await held("session");
    const deadlineMs = runtime.nowMs() + handle.remainingMs();
    vi.spyOn(runtime, "nowMs")
      .mockReturnValueOnce(deadlineMs - 1)
      .mockReturnValue(deadlineMs);
    expect(() => handle.assertHeld()).toThrow(LockLostError);
  });

  it("is not lost by the alarm of an older deadline while its release is under way", async () => {
    const { runtime, grant, handle } = await held("session");
    grant.releaseAnswer = undefined;
    const release = handle.release();
    grant.untilMs = runtime.nowMs() + 60_000;
    await runtime.advance(4_000);
    grant.releases[0]?.resolve(true);
    expect(await release).toBe("released");
  });

  it("settles its release as unconfirmed in time also when the alarm of an older deadline has rung before", async () => {
    const { runtime, grant, handle } = await held("session", { releaseTimeoutMs: 10_000 });
    grant.releaseAnswer = undefined;
    const release = handle.release();
    grant.untilMs = runtime.nowMs() + 60_000;
    await runtime.advance(10_000);
    expect(await release).toBe("unconfirmed");
  });

  it("that a listener of `uncertain` releases while its alarm rings leaves the alarms of other holds alone", async () => {
    const runtime = simulatedRuntime(20);
    const { provider, last } = scripted(runtime, "ttl", { leaseMs: 3_000 });
    const take = async (name: string) => {
      const grant = new ScriptedGrant(runtime.nowMs() + 3_000);
      const acquired = provider.mutex(name).acquire();
      last().granted.resolve(grant);
      return { grant, handle: await acquired };
    };
    const first = await take("a");
    await runtime.advance(1);
    const second = await take("b");
    first.grant.releaseAnswer = undefined;
    provider.events.on("uncertain", () => void first.handle.release());
    await runtime.advance(990);
    // A driver may report doubt only when the deadline is read.
    let unheard = true;
    vi.spyOn(first.grant, "validUntilMs").mockImplementation(() => {
      if (unheard) {
        unheard = false;
        first.grant.listener({ type: "uncertain" });
      }
      return first.grant.untilMs;
    });
    await runtime.advance(100);
    expect(first.grant.releases).toHaveLength(1);
    expect(second.grant.renewals).toHaveLength(1);
  });

  it("stays lost when contact comes back after its deadline", async () => {
    const { runtime, grant, handle, provider } = await held("session");
    const recovered = recorded(provider, "recovered");
    grant.listener({ type: "uncertain" });
    expect(handle.state).toBe("uncertain");
    handle.assertHeld(2_000);
    runtime.block(3_000);
    grant.untilMs = runtime.nowMs();
    grant.listener({ type: "recovered" });
    expect(recovered).toEqual([]);
    expect(handle.state).toBe("lost");
  });

  it("emits uncertain and recovered once for one doubt, however often the driver reports it", async () => {
    const { provider, grant } = await held("session");
    const seen = [recorded(provider, "uncertain"), recorded(provider, "recovered")];
    for (const type of ["uncertain", "uncertain", "recovered", "recovered"] as const)
      grant.listener({ type });
    expect(seen.map((each) => each.length)).toEqual([1, 1]);
  });

  it("is reported as lost and not as uncertain when doubt comes after the deadline, before any timer ran", async () => {
    const { runtime, grant, handle, provider } = await held("session");
    const [uncertain, lost] = [recorded(provider, "uncertain"), recorded(provider, "lost")];
    runtime.block(3_000);
    grant.listener({ type: "uncertain" });
    expect(uncertain).toEqual([]);
    expect(lost).toHaveLength(1);
    expect(handle.state).toBe("lost");
  });

  it("confirms by a round trip, and a missing entry is a theft where the session lives", async () => {
    const { grant, handle } = await held("session");
    const good = handle.confirm();
    grant.renewals[0]?.answer.resolve(grant.untilMs);
    await good;
    const bad = handle.confirm();
    grant.renewals[1]?.answer.resolve(null);
    await expect(bad).rejects.toMatchObject({ code: "HF_LOCK_LOST", reason: "stolen" });
  });

  it("ends a hanging confirm() at abort, loss and release", async () => {
    const { grant, handle } = await held("session");
    const controller = new AbortController();
    const aborted = handle.confirm({ signal: controller.signal });
    controller.abort("enough");
    await expect(aborted).rejects.toBe("enough");
    const lost = handle.confirm();
    grant.listener({ type: "lost", reason: "session-expired" });
    await expect(lost).rejects.toMatchObject({ reason: "session-expired" });
    const other = await held("session");
    const released = other.handle.confirm();
    await other.handle.release();
    await expect(released).rejects.toBeInstanceOf(NotHeldError);
  });
});

describe("a release", () => {
  it("settles as unconfirmed after releaseTimeoutMs, and the next acquire waits for the delete", async () => {
    const { runtime, grant, handle, provider, requests } = await held("session", { releaseTimeoutMs: 500 });
    const failed = recorded(provider, "release-failed");
    grant.releaseAnswer = undefined;
    grant.untilMs = 1e12;
    const release = handle.release();
    await runtime.advance(500);
    expect(await release).toBe("unconfirmed");
    expect(failed).toMatchObject([{ reason: "unconfirmed", error: expect.any(BackendError) }]);
    void provider.mutex("a").tryAcquire();
    void provider.mutex("a").acquire();
    await runtime.advance(5_000);
    expect(requests).toHaveLength(1);
    grant.releases[0]?.resolve(true);
    await runtime.advance(0);
    expect(requests).toHaveLength(3);
  });

  it("that is answered while the provider closes is its owner's, and no release of the provider", async () => {
    const { runtime, grant, handle, provider } = await held("session");
    grant.releaseAnswer = undefined;
    const release = handle.release();
    const closing = provider.close();
    await runtime.advance(10);
    grant.releases[0]?.resolve(true);
    await runtime.advance(10);
    expect(await closing).toEqual({ released: 0, unconfirmed: [] });
    expect(await release).toBe("released");
  });

  it("that is still unanswered when the provider closes settles as unconfirmed, and the report names it", async () => {
    const { runtime, grant, handle, provider } = await held("session", { releaseTimeoutMs: 60_000 });
    grant.releaseAnswer = undefined;
    grant.untilMs = 1e12;
    const release = handle.release();
    const closing = provider.close({ releaseTimeoutMs: 100 });
    await runtime.advance(200);
    expect(await closing).toEqual({ released: 0, unconfirmed: ["a"] });
    expect(await release).toBe("unconfirmed");
  });

  it("that has ended as unconfirmed goes on while the provider closes, whose report names it if no answer comes", async () => {
    const { runtime, grant, handle, provider } = await held("session", { releaseTimeoutMs: 500 });
    grant.releaseAnswer = undefined;
    grant.untilMs = 1e12;
    const release = handle.release();
    await runtime.advance(500);
    expect(await release).toBe("unconfirmed");
    let report: unknown;
    const closing = provider.close({ releaseTimeoutMs: 100 }).then((each) => {
      report = each;
    });
    await runtime.advance(50);
    expect(report).toBeUndefined();
    await runtime.advance(200);
    await closing;
    expect(report).toEqual({ released: 0, unconfirmed: ["a"] });
  });

  it("begins with the last handle's release, and from then on nothing can be entered again", async () => {
    const { grant, handle } = await held("ttl");
    grant.releaseAnswer = undefined;
    const hold = Handle.holdOf(handle as Handle);
    const released = handle.release();
    expect(() => new Handle(hold, { revocable: false, holdAtLeastMs: 0 })).toThrow(NotHeldError);
    grant.releases[0]?.resolve(true);
    expect(await released).toBe("released");
    expect(() => new Handle(hold, { revocable: false, holdAtLeastMs: 0 })).toThrow(NotHeldError);
  });

  it("settles as lost when the session ends first", async () => {
    const { grant, handle } = await held("session");
    grant.releaseAnswer = undefined;
    const { lost } = handle;
    const release = handle.release();
    grant.listener({ type: "lost", reason: "session-expired" });
    expect(await release).toBe("lost");
    expect(lost.aborted).toBe(false);
  });

  it("is judged by its own answer, also where the answer to an earlier confirm() says that the entry is gone", async () => {
    const { runtime, grant, handle, provider } = await held("session");
    const released = recorded(provider, "released");
    grant.releaseAnswer = undefined;
    const confirmed = handle.confirm();
    const release = handle.release();
    await expect(confirmed).rejects.toBeInstanceOf(NotHeldError);
    grant.renewals[0]?.answer.resolve(null);
    await runtime.advance(0);
    grant.releases[0]?.resolve(true);
    expect(await release).toBe("released");
    expect(released).toMatchObject([{ outcome: "released" }]);
  });

  it("that a listener of its own event asks for again is the same release", async () => {
    const provider = memoryLocks({ keepMs: 1_000 });
    await provider.mutex("a").withLock(() => {});
    let handle: LockHandle | undefined;
    const outcomes: unknown[] = [];
    provider.events.on("released", ({ name, outcome }) => {
      outcomes.push([name, outcome]);
      void handle?.release();
    });
    await provider.mutex("a").withLock((lock) => {
      handle = lock;
    });
    handle = await provider.mutex("b").acquire({ holdAtLeastMs: 50 });
    expect(await handle.release()).toBe("still-held");
    expect(outcomes).toEqual([
      ["a", "kept"],
      ["b", "still-held"],
    ]);
    await provider.close();
  });

  it("that a driver's error stopped before it began can be asked for again", async () => {
    const { grant, handle } = await held("session");
    vi.spyOn(grant, "validUntilMs").mockImplementationOnce(() => {
      throw new Error("no clock");
    });
    expect(() => handle.release()).toThrow("no clock");
    expect(await handle.release()).toBe("released");
  });

  it("by a listener of the loss of another handle on the same hold is that of a lost handle", async () => {
    const provider = memoryLocks();
    const outer = await provider.reentrantMutex("a").acquire();
    const { owner } = outer;
    const inner = await provider.reentrantMutex("a").acquire({ owner });
    const [lost, released] = [recorded(provider, "lost"), recorded(provider, "released")];
    const innerLost = inner.lost;
    const outcomes: unknown[] = [];
    outer.lost.addEventListener("abort", () => {
      outcomes.push(inner.release(), inner.state);
    });
    memoryControls(provider).steal("a");
    expect(await Promise.all(outcomes)).toEqual(["lost", "lost"]);
    expect(innerLost.reason).toMatchObject({ reason: "stolen" });
    expect([lost, released]).toMatchObject([[{ reason: "stolen" }], []]);
    await provider.close();
  });

  it("settles as lost at the local deadline", async () => {
    const { runtime, grant, handle } = await held("session");
    grant.releaseAnswer = undefined;
    const release = handle.release();
    await runtime.advance(3_000);
    expect(await release).toBe("lost");
  });

  it("that is refused rejects with BackendError; a scope keeps its result and only the event reports it", async () => {
    const refused = new BackendError("NoAuth", { retryable: false });
    const { grant, handle, provider } = await held("session");
    const failed = recorded(provider, "release-failed");
    grant.releaseAnswer = undefined;
    const release = handle.release();
    grant.releases[0]?.reject(refused);
    await expect(release).rejects.toBe(refused);
    await handle[Symbol.asyncDispose]();
    expect(failed).toMatchObject([{ reason: "refused", error: refused }]);
    const runtime: SimulatedRuntime = simulatedRuntime(21);
    const second = scripted(runtime, "session");
    const value = second.provider.mutex("a").withLock(() => "kept");
    const other = new ScriptedGrant(1e12);
    other.releaseAnswer = undefined;
    second.last().granted.resolve(other);
    await runtime.advance(0);
    other.releases[0]?.reject(refused);
    expect(await value).toBe("kept");
  });

  it("that finds nothing means the body was not alone: withLock rejects", async () => {
    const runtime = simulatedRuntime(22);
    const { provider, last } = scripted(runtime, "session");
    const value = provider.mutex("a").withLock(() => "computed");
    const grant = new ScriptedGrant(1e12);
    grant.releaseAnswer = false;
    last().granted.resolve(grant);
    await expect(value).rejects.toMatchObject({ code: "HF_LOCK_LOST", reason: "stolen", value: "computed" });
  });
});
