import {
  BackendError,
  EvictedError,
  LockLostError,
  type LockProvider,
  NotHeldError,
  type WriteHandle,
} from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";
import { ScriptedGrant, scripted } from "./scripted-driver.js";

const farMs = 1e12;
const outage = () => new BackendError("the connection broke", { backend: "memory" });

/** A held write, and a downgrade of it that the driver was asked for but has not answered. */
async function asked(settings: Parameters<typeof scripted>[2] & { signal?: AbortSignal } = {}) {
  const { signal, ...rest } = settings;
  const runtime = simulatedRuntime(30);
  const made = scripted(runtime, "session", rest);
  const write = new ScriptedGrant(farMs);
  write.token = 7n;
  const acquired = made.provider.readWriteLock("a", { label: "l", revocable: true }).write.acquire();
  made.last().granted.resolve(write);
  const handle: WriteHandle = await acquired;
  const events = recorded(made.provider);
  const downgrading = follow(handle.downgrade(signal === undefined ? {} : { signal }));
  await runtime.advance(0);
  const read = new ScriptedGrant(farMs);
  read.token = 7n;
  read.backendId = "read";
  return { ...made, runtime, write, read, handle, events, downgrading };
}

function recorded(provider: LockProvider): string[] {
  const seen: string[] = [];
  const { events } = provider;
  events.on("acquire-settled", (event) => seen.push(`${event.outcome} ${event.mode}`));
  events.on("released", (event) => seen.push(event.outcome));
  events.on("release-failed", (event) => seen.push(`release-failed ${event.reason}`));
  events.on("lost", (event) => seen.push(`lost ${event.reason}`));
  return seen;
}

function follow<T>(promise: Promise<T>): { settled: boolean; value?: T; error?: unknown } {
  const followed: { settled: boolean; value?: T; error?: unknown } = { settled: false };
  promise.then(
    (value) => Object.assign(followed, { settled: true, value }),
    (error) => Object.assign(followed, { settled: true, error }),
  );
  return followed;
}

describe("a downgrade under way", () => {
  it("gives the write up only when the read is there, and asks for the read as the write was asked for", async () => {
    const { runtime, write, read, handle, downgrades, downgrading, events, provider } = await asked();
    expect(downgrades).toMatchObject([{ write, read: { label: "l", revocable: true, leaseMs: 30_000 } }]);
    expect(write.releases).toHaveLength(0);
    expect(handle.state).toBe("held");
    write.releaseAnswer = undefined;
    downgrades[0]?.answer.resolve(read);
    await runtime.advance(0);
    expect(write.releases).toHaveLength(1);
    expect(handle.state).toBe("released");
    expect(provider.holds()).toMatchObject([{ mode: "shared", token: 7n, state: "held" }]);
    write.releases[0]?.resolve(true);
    await runtime.advance(0);
    expect(downgrading.value).toMatchObject({ mode: "shared", token: 7n, state: "held" });
    expect(events).toEqual(["granted shared", "released"]);
    await downgrading.value?.release();
    expect(read.releases).toHaveLength(1);
  });

  it("ends with the reason of an abort; the write is held as before, and a read that comes late goes back", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const { runtime, write, read, handle, downgrades, downgrading, events, provider, requests } = await asked(
      {
        signal,
      },
    );
    const reason = new Error("stay");
    controller.abort(reason);
    await runtime.advance(0);
    expect(downgrading.error).toBe(reason);
    expect(handle.state).toBe("held");
    expect(provider.holds()).toEqual([handle]);
    read.releaseAnswer = undefined;
    downgrades[0]?.answer.resolve(read);
    await runtime.advance(0);
    expect(read.releases).toHaveLength(1);
    expect(provider.holds()).toEqual([handle]);
    expect(events).toEqual(["aborted shared"]);
    // The late read must be released before a later acquire is sent: otherwise that acquire would wait behind the read for ever.
    await handle.release();
    expect(write.releases).toHaveLength(1);
    const next = follow(provider.readWriteLock("a").write.acquire());
    await runtime.advance(0);
    expect(requests).toHaveLength(1);
    read.releases[0]?.resolve(true);
    await runtime.advance(0);
    expect(requests).toHaveLength(2);
    requests[1]?.granted.resolve(new ScriptedGrant(farMs));
    await runtime.advance(0);
    expect(next.value?.state).toBe("held");
  });

  it("ends with the loss of the write, and a read that comes late goes back", async () => {
    const { runtime, write, read, handle, downgrades, downgrading, events } = await asked();
    write.listener({ type: "lost", reason: "session-expired" });
    await runtime.advance(0);
    expect(downgrading.error).toBe(handle.lost.reason);
    expect(downgrading.error).toMatchObject({ code: "HF_LOCK_LOST", reason: "session-expired", token: 7n });
    downgrades[0]?.answer.resolve(read);
    await runtime.advance(0);
    expect(read.releases).toHaveLength(1);
    expect(events).toEqual(["lost session-expired", "error shared"]);
  });

  it("finds the write lost when the answer and the loss come in one breath", async () => {
    const { runtime, write, read, downgrades, downgrading, provider } = await asked();
    downgrades[0]?.answer.resolve(read);
    write.listener({ type: "lost", reason: "stolen" });
    await runtime.advance(0);
    expect(downgrading.error).toBeInstanceOf(LockLostError);
    expect(read.releases).toHaveLength(1);
    expect(provider.holds()).toEqual([]);
  });

  it("delivers no read once the write is lost, at whatever moment after the answer that is", async () => {
    const ends = { granted: 0, refused: 0 };
    for (let depth = 0; depth < 24; depth++) {
      const { runtime, write, read, downgrades, downgrading, events } = await asked();
      downgrades[0]?.answer.resolve(read);
      for (let i = 0; i < depth; i++) await Promise.resolve();
      write.listener({ type: "lost", reason: "stolen" });
      await runtime.advance(0);
      if (events[0] === "granted shared") {
        ends.granted++;
        expect(downgrading.value).toMatchObject({ state: "held" });
        expect(read.releases).toHaveLength(0);
      } else {
        ends.refused++;
        expect(events).toEqual(["lost stolen", "error shared"]);
        expect(downgrading.error).toBeInstanceOf(LockLostError);
        expect(read.releases).toHaveLength(1);
      }
    }
    expect(ends.granted).toBeGreaterThan(0);
    expect(ends.refused).toBeGreaterThan(0);
  });

  it("delivers no read once the write is over by the clock, before any timer ran", async () => {
    const { runtime, write, read, downgrades, downgrading, provider } = await asked();
    downgrades[0]?.answer.resolve(read);
    write.untilMs = runtime.nowMs();
    await runtime.advance(0);
    expect(downgrading.error).toMatchObject({ code: "HF_LOCK_LOST", reason: "lease-expired" });
    expect(read.releases).toHaveLength(1);
    expect(provider.holds()).toEqual([]);
  });

  it("asks for nothing while the write is in doubt, and goes on when it is certain again", async () => {
    const runtime = simulatedRuntime(33);
    const { provider, last, downgrades } = scripted(runtime, "session");
    const write = new ScriptedGrant(farMs);
    const acquired = provider.readWriteLock("a").write.acquire();
    last().granted.resolve(write);
    const handle = await acquired;
    write.listener({ type: "uncertain" });
    const downgrading = follow(handle.downgrade());
    await runtime.advance(60_000);
    expect(downgrades).toHaveLength(0);
    write.listener({ type: "recovered" });
    await runtime.advance(0);
    downgrades[0]?.answer.resolve(new ScriptedGrant(farMs));
    await runtime.advance(0);
    expect(downgrading.value).toMatchObject({ mode: "shared", state: "held" });
  });

  it("goes on through an outage and through the grace of a close, for as long as the write stands", async () => {
    const { runtime, read, handle, downgrades, downgrading, setState, contacts, provider } = await asked();
    setState("lost");
    await runtime.advance(11_000);
    for (const contact of contacts) contact.reject(outage());
    await runtime.advance(60_000);
    expect(downgrading.settled).toBe(false);
    setState("connected");
    const closing = follow(provider.close({ graceMs: 5_000 }));
    await runtime.advance(1);
    downgrades[0]?.answer.resolve(read);
    await runtime.advance(1);
    expect(downgrading.value).toMatchObject({ mode: "shared", state: "held" });
    expect(handle.state).toBe("released");
    await downgrading.value?.release();
    await runtime.advance(1);
    expect(closing.value).toMatchObject({ unconfirmed: [] });
  });

  it("believes the driver that the write is gone, before the loss of the write was reported", async () => {
    const { runtime, handle, downgrades, downgrading, provider } = await asked();
    const { lost } = handle;
    downgrades[0]?.answer.reject(new LockLostError("gone", { reason: "stolen", token: 7n }));
    await runtime.advance(0);
    expect(downgrading.error).toBe(lost.reason);
    expect(lost.reason).toMatchObject({ reason: "stolen" });
    expect(provider.holds()).toEqual([]);
  });

  it("does not take the reason of an abort for news of the write, even if that is another lock's loss", async () => {
    const controller = new AbortController();
    const { runtime, write, handle, downgrading } = await asked({ signal: controller.signal });
    const reason = new LockLostError("another lock", { reason: "stolen", token: 1n });
    controller.abort(reason);
    await runtime.advance(0);
    expect(downgrading.error).toBe(reason);
    expect(handle.state).toBe("held");
    expect(await handle.release()).toBe("released");
    expect(write.releases).toHaveLength(1);
  });

  it("leaves a release under way alone when the driver finds the write gone because of it", async () => {
    const { runtime, write, handle, downgrades, downgrading } = await asked();
    write.releaseAnswer = undefined;
    const releasing = handle.release();
    downgrades[0]?.answer.reject(new LockLostError("gone", { reason: "stolen", token: 7n }));
    await runtime.advance(0);
    write.releases[0]?.resolve(true);
    expect(await releasing).toBe("released");
    expect(downgrading.error).toBeInstanceOf(NotHeldError);
  });

  it("asks anew when the read was over before it could be delivered, without blaming the write", async () => {
    const { runtime, read, handle, downgrades, downgrading } = await asked();
    read.untilMs = runtime.nowMs() - 1;
    downgrades[0]?.answer.resolve(read);
    await runtime.advance(2_100);
    expect(read.releases).toHaveLength(1);
    expect(handle.state).toBe("held");
    expect(downgrades).toHaveLength(2);
    downgrades[1]?.answer.resolve(new ScriptedGrant(farMs));
    await runtime.advance(0);
    expect(downgrading.value).toMatchObject({ mode: "shared", state: "held" });
  });

  it("asks again by the retry policy after trouble in transport, with the write held meanwhile", async () => {
    const { runtime, read, handle, downgrades, downgrading } = await asked();
    for (let tries = 1; tries <= 3; tries++) {
      expect(downgrades).toHaveLength(tries);
      downgrades[tries - 1]?.answer.reject(outage());
      await runtime.advance(2_100);
    }
    expect(handle.state).toBe("held");
    expect(downgrades).toHaveLength(4);
    downgrades[3]?.answer.resolve(read);
    await runtime.advance(0);
    expect(downgrading.value).toMatchObject({ state: "held" });
    expect(handle.state).toBe("released");
  });

  it("passes a refusal on, with the write held", async () => {
    const { runtime, handle, downgrades, downgrading, events } = await asked();
    downgrades[0]?.answer.reject(new Error("NoAuth"));
    await runtime.advance(0);
    expect(downgrading.error).toBeInstanceOf(BackendError);
    expect(downgrading.error).toMatchObject({ retryable: false, lockName: "a" });
    expect(handle.state).toBe("held");
    expect(events).toEqual(["error shared"]);
  });

  it("delivers no read while contact is broken: it counts once a round trip has shown that it stands", async () => {
    const { runtime, write, read, handle, downgrades, downgrading, setState, contacts } = await asked();
    read.untold = { type: "uncertain" };
    setState("suspended");
    write.listener({ type: "uncertain" });
    downgrades[0]?.answer.resolve(read);
    await runtime.advance(0);
    expect(downgrading.settled).toBe(false);
    expect(write.releases).toHaveLength(0);
    expect(read.renewals).toHaveLength(0);
    setState("connected");
    contacts[0]?.resolve();
    await runtime.advance(0);
    expect(read.renewals).toHaveLength(1);
    expect(write.releases).toHaveLength(0);
    read.renewed(farMs);
    await runtime.advance(0);
    expect(downgrading.value).toMatchObject({ state: "held" });
    expect(handle.state).toBe("released");
  });

  it("keeps the write, and asks again, when the read turns out to be gone after broken contact", async () => {
    const { runtime, write, read, handle, downgrades, downgrading, setState, contacts, provider } =
      await asked();
    read.untold = { type: "uncertain" };
    setState("suspended");
    write.listener({ type: "uncertain" });
    downgrades[0]?.answer.resolve(read);
    await runtime.advance(0);
    setState("connected");
    contacts[0]?.resolve();
    write.listener({ type: "recovered" });
    await runtime.advance(0);
    read.renewals[0]?.answer.resolve(null);
    await runtime.advance(2_100);
    expect(read.releases).toHaveLength(1);
    expect(handle.state).toBe("held");
    expect(write.releases).toHaveLength(0);
    expect(provider.holds()).toEqual([handle]);
    expect(downgrades).toHaveLength(2);
    downgrades[1]?.answer.resolve(new ScriptedGrant(farMs));
    await runtime.advance(0);
    expect(downgrading.value).toMatchObject({ mode: "shared", state: "held" });
  });

  it("gives a read that another client deleted at once no chance to replace the write", async () => {
    const { runtime, write, read, handle, downgrades, downgrading } = await asked();
    read.untold = { type: "lost", reason: "stolen" };
    downgrades[0]?.answer.resolve(read);
    await runtime.advance(0);
    expect(downgrading.error).toBeInstanceOf(EvictedError);
    expect(handle.state).toBe("held");
    expect(write.releases).toHaveLength(0);
  });

  it("keeps the read when the release of the write gets no answer or a refusal, which release-failed reports", async () => {
    for (const how of ["silence", "refusal", "abort", "gone"] as const) {
      const controller = new AbortController();
      const { runtime, write, read, handle, downgrades, downgrading, events } = await asked({
        signal: controller.signal,
        releaseTimeoutMs: 700,
      });
      write.releaseAnswer = undefined;
      downgrades[0]?.answer.resolve(read);
      await runtime.advance(10);
      expect(downgrading.settled).toBe(false);
      if (how === "silence") await runtime.advance(700);
      if (how === "refusal") write.releases[0]?.reject(new Error("NoAuth"));
      if (how === "abort") controller.abort("enough");
      if (how === "gone") write.releases[0]?.resolve(false);
      await runtime.advance(0);
      expect(downgrading.value).toMatchObject({ mode: "shared", state: "held" });
      expect(handle.state).toBe("released");
      expect(read.releases).toHaveLength(0);
      const told = {
        silence: ["granted shared", "release-failed unconfirmed", "unconfirmed"],
        refusal: ["granted shared", "unconfirmed", "release-failed refused"],
        abort: ["granted shared", "release-failed unconfirmed", "unconfirmed"],
        gone: ["granted shared", "lost"],
      }[how];
      expect(events).toEqual(told);
    }
  });

  it("ends when the write is released meanwhile, and a read that comes late goes back", async () => {
    const { runtime, read, handle, downgrades, downgrading, provider } = await asked();
    expect(await handle.release()).toBe("released");
    await runtime.advance(0);
    expect(downgrading.error).toBeInstanceOf(NotHeldError);
    downgrades[0]?.answer.resolve(read);
    await runtime.advance(0);
    expect(read.releases).toHaveLength(1);
    expect(provider.holds()).toEqual([]);
  });

  it("ends with the loss of the write when the provider closes, which gives a late read back before it ends", async () => {
    const { runtime, write, read, downgrades, downgrading, provider } = await asked();
    const closing = follow(provider.close({ releaseTimeoutMs: 500 }));
    await runtime.advance(0);
    expect(downgrading.error).toMatchObject({ code: "HF_LOCK_LOST", reason: "provider-closed" });
    expect(write.releases).toHaveLength(1);
    expect(closing.settled).toBe(false);
    downgrades[0]?.answer.resolve(read);
    await runtime.advance(0);
    expect(read.releases).toHaveLength(1);
    expect(closing.value).toEqual({ released: 1, unconfirmed: [] });
  });

  it("is tried anew after one that failed, one at a time", async () => {
    const { runtime, read, handle, downgrades, downgrading } = await asked();
    await expect(handle.downgrade()).rejects.toThrow(NotHeldError);
    expect(downgrades).toHaveLength(1);
    downgrades[0]?.answer.reject(new Error("NoAuth"));
    await runtime.advance(0);
    expect(downgrading.settled).toBe(true);
    const again = follow(handle.downgrade());
    await runtime.advance(0);
    downgrades[1]?.answer.resolve(read);
    await runtime.advance(0);
    expect(again.value).toMatchObject({ mode: "shared" });
  });
});

describe("a re-entrant read beside the own write", () => {
  async function writing() {
    const runtime = simulatedRuntime(31);
    const made = scripted(runtime, "session");
    const lock = made.provider.reentrantReadWriteLock("a");
    const owner = { id: "o" };
    const grant = new ScriptedGrant(farMs);
    const acquired = lock.write.acquire({ owner });
    await runtime.advance(0);
    made.last().granted.resolve(grant);
    return { ...made, runtime, lock, owner, grant, write: await acquired };
  }

  it("is bounded by waitMs, and a read that comes late goes back", async () => {
    const { runtime, lock, owner, write, downgrades, provider } = await writing();
    const late = follow(lock.read.acquire({ owner, waitMs: 100 }));
    const tried = follow(lock.read.tryAcquire({ owner, waitMs: 200 }));
    await runtime.advance(99);
    expect(late.settled).toBe(false);
    await runtime.advance(51);
    // The time-out is a `BackendError`, because no other client can stand in the way of a read beside its own write.
    expect(late.error).toMatchObject({ code: "HF_BACKEND", lockName: "a" });
    await runtime.advance(100);
    expect(tried.error).toMatchObject({ code: "HF_BACKEND", lockName: "a" });
    const reads = downgrades.map(({ answer }) => {
      const grant = new ScriptedGrant(farMs);
      answer.resolve(grant);
      return grant;
    });
    await runtime.advance(0);
    expect(reads.map(({ releases }) => releases.length)).toEqual([1, 1]);
    expect(provider.holds()).toEqual([write]);
  });

  it("asks once with waitMs 0, and waits for that answer for connectTimeoutMs", async () => {
    const { runtime, lock, owner } = await writing();
    const tried = follow(lock.read.tryAcquire({ owner }));
    await runtime.advance(9_999);
    expect(tried.settled).toBe(false);
    await runtime.advance(51);
    expect(tried.error).toMatchObject({ code: "HF_BACKEND", lockName: "a" });
  });

  it("asks once with waitMs 0, and waits for that answer", async () => {
    const { runtime, lock, owner, downgrades } = await writing();
    const tried = follow(lock.read.tryAcquire({ owner }));
    await runtime.advance(1_000);
    expect(tried.settled).toBe(false);
    downgrades[0]?.answer.resolve(new ScriptedGrant(farMs));
    await runtime.advance(0);
    expect(tried.value).toMatchObject({ mode: "shared", owner });
  });

  it("becomes an ordinary request when the write is released meanwhile", async () => {
    const { runtime, lock, owner, write, downgrades, requests } = await writing();
    const reading = follow(lock.read.acquire({ owner }));
    await runtime.advance(0);
    expect(downgrades).toHaveLength(1);
    await write.release();
    const late = new ScriptedGrant(farMs);
    await runtime.advance(0);
    expect(requests).toHaveLength(1);
    downgrades[0]?.answer.resolve(late);
    await runtime.advance(0);
    expect(late.releases).toHaveLength(1);
    expect(requests[1]?.request).toMatchObject({ mode: "shared", kind: "reentrant-read-write-lock" });
    requests[1]?.granted.resolve(new ScriptedGrant(farMs));
    await runtime.advance(0);
    expect(reading.value).toMatchObject({ mode: "shared", state: "held" });
    expect(lock.read.holdCount(owner)).toBe(1);
  });
});
