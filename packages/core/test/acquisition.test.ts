import {
  AcquireTimeoutError,
  BackendError,
  EvictedError,
  type LockHandle,
  ProviderClosedError,
} from "@holdfast/core";
import { simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it, vi } from "vitest";
import { ScriptedGrant, scripted } from "./scripted-driver.js";

const farMs = 1e12;
/** Records how a promise settles, without waiting for it. */
function follow<T>(promise: Promise<T>): { settled: boolean; value?: T; error?: unknown } {
  const followed: { settled: boolean; value?: T; error?: unknown } = { settled: false };
  promise.then(
    (value) => Object.assign(followed, { settled: true, value }),
    (error) => Object.assign(followed, { settled: true, error }),
  );
  return followed;
}

const outage = () => new BackendError("the connection broke", { backend: "memory" });

describe("an acquire under way", () => {
  it("settles at its limit, and what is left is taken back before the next acquire of that name is sent", async () => {
    const runtime = simulatedRuntime(1);
    const { provider, requests, last } = scripted(runtime, "session", { cancelsAnswered: false });
    const waiting = follow(provider.mutex("a").acquire({ waitMs: 100 }));
    await runtime.advance(50);
    last().progress.waiting();
    await runtime.advance(50);
    expect(waiting.error).toBeInstanceOf(AcquireTimeoutError);
    expect(last().cancels).toBe(1);
    last().granted.resolve(new ScriptedGrant(farMs));
    const next = follow(provider.mutex("a").tryAcquire());
    await runtime.advance(10);
    expect(provider.holds()).toEqual([]);
    expect(requests).toHaveLength(1);
    last().cancelled.resolve();
    await runtime.advance(0);
    expect(requests).toHaveLength(2);
    last().granted.resolve(new ScriptedGrant(farMs));
    await runtime.advance(0);
    expect(next.value).toBe(provider.holds()[0]);
  });

  it("is taken back before a request that a listener of its end makes", async () => {
    const runtime = simulatedRuntime(1);
    const { provider, requests, last } = scripted(runtime, "session", { cancelsAnswered: false });
    const listening = provider.events.on("acquire-settled", () => {
      listening[Symbol.dispose]();
      follow(provider.mutex("a").tryAcquire());
    });
    const controller = new AbortController();
    follow(provider.mutex("a").acquire({ signal: controller.signal }));
    await runtime.advance(50);
    controller.abort("enough");
    await runtime.advance(10);
    expect(last().cancels).toBe(1);
    expect(requests).toHaveLength(1);
    last().cancelled.resolve();
    await runtime.advance(0);
    expect(requests).toHaveLength(2);
  });

  it("settles at an abort, whatever the server does, and the clean-up goes on behind", async () => {
    const runtime = simulatedRuntime(2);
    const { provider, last } = scripted(runtime, "session", { cancelsAnswered: false });
    const controller = new AbortController();
    const waiting = follow(provider.mutex("a").acquire({ signal: controller.signal }));
    await runtime.advance(200);
    controller.abort("enough");
    await runtime.advance(0);
    expect(waiting).toMatchObject({ settled: true, error: "enough" });
    expect(last().cancels).toBe(1);
    const closing = follow(provider.close());
    await runtime.advance(0);
    expect(closing.settled).toBe(false);
    last().cancelled.resolve();
    await runtime.advance(0);
    expect(closing.settled).toBe(true);
  });

  it("others that give up meanwhile do not put off a request again and again", async () => {
    const runtime = simulatedRuntime(2);
    const { provider, requests } = scripted(runtime, "session", { cancelsAnswered: false });
    const mutex = provider.mutex("a");
    const early = [follow(mutex.acquire({ waitMs: 100 })), follow(mutex.acquire({ waitMs: 200 }))];
    await runtime.advance(150);
    expect(early.map(({ settled }) => settled)).toEqual([true, false]);
    const next = follow(mutex.acquire());
    await runtime.advance(100);
    expect(early.map(({ settled }) => settled)).toEqual([true, true]);
    expect(requests).toHaveLength(2);
    requests[0]?.cancelled.resolve();
    await runtime.advance(1);
    expect(requests).toHaveLength(3);
    expect(next.settled).toBe(false);
  });

  it("a wait in which no server has answered is an outage and no contention", async () => {
    const runtime = simulatedRuntime(2);
    const { provider, last } = scripted(runtime, "session", {
      cancelsAnswered: false,
      connectTimeoutMs: 500,
    });
    const bounded = follow(provider.mutex("a").acquire({ waitMs: 300 }));
    const patient = follow(provider.mutex("b").tryAcquire({ waitMs: 300 }));
    const once = follow(provider.mutex("c").tryAcquire());
    const held = follow(provider.mutex("d").tryAcquire({ waitMs: 300 }));
    last().progress.waiting();
    await runtime.advance(300);
    expect([held.settled, bounded.settled]).toEqual([true, false]);
    await runtime.advance(50);
    expect(bounded.error).toMatchObject({
      code: "HF_BACKEND",
      lockName: "a",
      retryable: true,
      message: 'acquire of "a": no answer from memory after 350 ms (waitMs = 300)',
    });
    expect(patient.error).toBeInstanceOf(BackendError);
    expect(held).toEqual({ settled: true, value: null });
    expect(once.settled).toBe(false);
    await runtime.advance(200);
    expect(once.error).toMatchObject({
      code: "HF_BACKEND",
      message: 'acquire of "c": no answer from memory after 550 ms (connectTimeoutMs = 500)',
    });
  });

  it("that asks once has connectTimeoutMs from the call for connecting, its answer and the clean-up together", async () => {
    const runtime = simulatedRuntime(2);
    const { provider, last, contacts, setState } = scripted(runtime, "session", {
      cancelsAnswered: false,
      connectTimeoutMs: 500,
    });
    setState("connecting");
    const [slow, refused] = ["a", "b"].map((name) => follow(provider.mutex(name).tryAcquire()));
    await runtime.advance(300);
    setState("connected");
    contacts[0]?.resolve();
    await runtime.advance(0);
    last().granted.reject(outage());
    await runtime.advance(249);
    expect([slow?.settled, refused?.settled]).toEqual([false, false]);
    await runtime.advance(1);
    expect([slow?.error, refused?.error]).toEqual([expect.any(BackendError), expect.any(BackendError)]);
    expect(refused?.error).toMatchObject({ cause: { message: "the connection broke" } });
  });

  it("a limit that passes while the event loop is blocked is contention if the answer lies there unread", async () => {
    const runtime = simulatedRuntime(2);
    const { provider, last } = scripted(runtime, "session");
    const waiting = follow(provider.mutex("a").acquire({ waitMs: 100 }));
    await runtime.advance(1);
    runtime.block(5_000);
    await runtime.advance(1);
    expect(waiting.settled).toBe(false);
    last().progress.waiting();
    expect(last().cancels).toBe(0);
    await runtime.advance(0);
    expect(waiting.error).toBeInstanceOf(AcquireTimeoutError);
    expect(last().cancels).toBe(1);
  });

  it("that asks once is granted by a server that takes its time", async () => {
    const runtime = simulatedRuntime(2);
    const { provider, last } = scripted(runtime, "session");
    const once = follow(provider.mutex("a").tryAcquire());
    await runtime.advance(9_000);
    last().granted.resolve(new ScriptedGrant(farMs));
    await runtime.advance(0);
    expect(once.value).toBe(provider.holds()[0]);
  });

  it("lets an abort win over a grant that the driver has made but the caller has not got", async () => {
    const runtime = simulatedRuntime(3);
    const { provider, last } = scripted(runtime, "session");
    const controller = new AbortController();
    const waiting = provider.mutex("a").acquire({ signal: controller.signal });
    await runtime.advance(0);
    last().granted.resolve(new ScriptedGrant(farMs));
    controller.abort("first");
    await expect(waiting).rejects.toBe("first");
    expect(last().cancels).toBe(1);
  });

  it("tries transport errors again by the policy, after taking the failed request back", async () => {
    const runtime = simulatedRuntime(4);
    const retry = { next: (attempt: number) => (attempt < 3 ? 50 : null) };
    const { provider, requests, last } = scripted(runtime, "session", { retry });
    const waiting = provider.mutex("a").acquire();
    const failed = expect(waiting).rejects.toThrow("the connection broke");
    for (let attempt = 1; attempt <= 3; attempt++) {
      await runtime.advance(0);
      expect(requests).toHaveLength(attempt);
      last().granted.reject(outage());
      await runtime.advance(49);
      expect(requests).toHaveLength(attempt);
      expect(last().cancels).toBe(1);
      await runtime.advance(1);
    }
    await failed;
    expect(requests).toHaveLength(3);
  });

  it("asks no more when the driver throws after the call was aborted meanwhile", async () => {
    const runtime = simulatedRuntime(6);
    const controller = new AbortController();
    let asked = 0;
    const attempt = (): never => {
      asked++;
      controller.abort("first");
      throw outage();
    };
    const { provider } = scripted(runtime, "session", { driver: { attempt } });
    await expect(provider.mutex("a").acquire({ signal: controller.signal })).rejects.toBe("first");
    await runtime.advance(60_000);
    expect(asked).toBe(1);
  });

  it("takes an attempt back that the driver returns after the call was aborted meanwhile", async () => {
    const runtime = simulatedRuntime(6);
    const controller = new AbortController();
    let withdrawn = 0;
    const attempt = () => {
      controller.abort("first");
      return {
        withdraw: async () => {
          withdrawn++;
        },
      };
    };
    const { provider } = scripted(runtime, "session", { driver: { attempt } });
    await expect(provider.mutex("a").acquire({ signal: controller.signal })).rejects.toBe("first");
    expect(withdrawn).toBe(1);
  });

  it("says that a request which was given up could not be taken back: refused, or not confirmed", async () => {
    const runtime = simulatedRuntime(7);
    const seen: unknown[] = [];
    const { provider, last } = scripted(runtime, "session", { cancelsAnswered: false });
    provider.events.on("release-failed", ({ reason, error }) => seen.push([reason, error]));
    const refused = new BackendError("NoAuth", { retryable: false });
    for (const error of [refused, outage()]) {
      const waiting = follow(provider.mutex("a").acquire({ waitMs: 100 }));
      last().progress.waiting();
      await runtime.advance(100);
      expect(waiting.error).toBeInstanceOf(AcquireTimeoutError);
      last().cancelled.reject(error);
      await runtime.advance(0);
    }
    expect(seen).toEqual([
      ["refused", refused],
      ["unconfirmed", expect.any(BackendError)],
    ]);
  });

  it("asks once more after a rest that ended, as its limit did, while the event loop was blocked", async () => {
    const runtime = simulatedRuntime(6);
    const { provider, requests, last } = scripted(runtime, "session", { retry: { next: () => 50 } });
    const waiting = provider.mutex("a").acquire({ waitMs: 100 });
    last().granted.reject(outage());
    await runtime.advance(10);
    runtime.block(200);
    await runtime.advance(0);
    expect(requests).toHaveLength(2);
    last().granted.resolve(new ScriptedGrant(farMs));
    expect(await waiting).toBe(provider.holds()[0]);
  });

  it("never tries again what is not a matter of transport", async () => {
    const runtime = simulatedRuntime(5);
    const { provider, requests, last } = scripted(runtime, "session");
    const evicted = new EvictedError("removed by somebody", { lockName: "a" });
    const waiting = provider.mutex("a").acquire();
    last().granted.reject(evicted);
    await expect(waiting).rejects.toBe(evicted);
    const strange = provider.mutex("a").acquire();
    last().granted.reject(new TypeError("a bug in the driver"));
    await expect(strange).rejects.toMatchObject({
      code: "HF_BACKEND",
      retryable: false,
      cause: expect.any(TypeError),
    });
    await runtime.advance(60_000);
    expect(requests).toHaveLength(2);
  });

  it("waits for contact before asking, and rejects with what the link says of its attempts, whatever waitMs", async () => {
    const runtime = simulatedRuntime(6);
    const { provider, requests, contacts, setState } = scripted(runtime, "session");
    setState("connecting");
    const first = provider.mutex("a").tryAcquire();
    const second = provider.mutex("a").acquire();
    await runtime.advance(5_000);
    expect(requests).toHaveLength(0);
    expect(contacts).toHaveLength(1);
    contacts[0]?.reject(new BackendError("refused by h1:2181", { servers: ["h1:2181"] }));
    const error = {
      code: "HF_BACKEND",
      lockName: "a",
      servers: ["h1:2181"],
      message: 'acquire of "a": no connection after 5000 ms (connectTimeoutMs = 10000): refused by h1:2181',
    };
    await expect(first).rejects.toMatchObject(error);
    await expect(second).rejects.toMatchObject(error);
  });

  it("keeps queued waiters through refusals while the session may live, however long", async () => {
    const runtime = simulatedRuntime(7);
    const { provider, last, contacts, setState } = scripted(runtime, "session", { connectTimeoutMs: 3_000 });
    const waiting = follow(provider.mutex("a").acquire());
    await runtime.advance(1);
    setState("suspended");
    for (let refused = 0; refused < 50; refused++) {
      contacts[refused]?.reject(outage());
      await runtime.advance(200);
    }
    expect(contacts).toHaveLength(51);
    expect(waiting.settled).toBe(false);
    setState("connected");
    contacts[50]?.resolve();
    last().granted.resolve(new ScriptedGrant(farMs));
    await runtime.advance(1);
    expect(waiting.value).toBeDefined();
  });

  it("ends queued waiters once the session is over and connectTimeoutMs has passed since contact broke", async () => {
    const runtime = simulatedRuntime(7);
    const { provider, last, contacts, setState } = scripted(runtime, "session", { connectTimeoutMs: 3_000 });
    const waiting = follow(provider.mutex("a").acquire());
    await runtime.advance(1);
    setState("suspended");
    await runtime.advance(2_000);
    setState("connecting");
    contacts[0]?.reject(outage());
    await runtime.advance(500);
    expect(waiting.settled).toBe(false);
    await runtime.advance(1_000);
    const error = outage();
    contacts[1]?.reject(error);
    await runtime.advance(1);
    expect(waiting.error).toBe(error);
    expect(last().cancels).toBe(1);
  });

  it("ends queued waiters at once when there will be no contact any more", async () => {
    const runtime = simulatedRuntime(7);
    const { provider, contacts, setState } = scripted(runtime, "session");
    const waiting = follow(provider.mutex("a").acquire());
    await runtime.advance(1);
    setState("suspended");
    const error = new BackendError("credentials refused", { retryable: false });
    contacts[0]?.reject(error);
    await runtime.advance(1);
    expect(waiting.error).toBe(error);
  });

  it("rejects with EvictedError where the entry was deleted at the moment of its grant", async () => {
    const runtime = simulatedRuntime(8);
    const { provider, requests, last } = scripted(runtime, "session");
    const waiting = follow(provider.mutex("a").acquire());
    await runtime.advance(1);
    const grant = new ScriptedGrant(farMs);
    grant.untold = { type: "lost", reason: "stolen" };
    last().granted.resolve(grant);
    await runtime.advance(5_000);
    expect(waiting.error).toBeInstanceOf(EvictedError);
    expect(requests).toHaveLength(1);
  });

  it("delivers no grant of which a doubt shows only when its deadline is read", async () => {
    const runtime = simulatedRuntime(8);
    const { provider, last, contacts, setState } = scripted(runtime, "session");
    let delivered = 0;
    void provider
      .mutex("a")
      .acquire()
      .then(() => delivered++);
    await runtime.advance(1);
    const grant = new ScriptedGrant(farMs);
    vi.spyOn(grant, "validUntilMs").mockImplementationOnce(() => {
      setState("suspended");
      grant.listener({ type: "uncertain" });
      return farMs;
    });
    last().granted.resolve(grant);
    await runtime.advance(1);
    expect(delivered).toBe(0);
    setState("connected");
    for (const contact of contacts) contact.resolve();
    await runtime.advance(1);
    expect({ delivered, proofs: grant.renewals.length }).toEqual({ delivered: 0, proofs: 1 });
    grant.listener({ type: "recovered" });
    grant.renewed(farMs);
    await runtime.advance(1);
    expect(delivered).toBe(1);
  });

  it.each([
    [1, "aborted"],
    [2, "granted"],
    [3, "granted"],
  ] as const)(
    "whose deadline shows a doubt at reading %i of its delivery, at which a listener aborts it, ends once: %s",
    async (reading, outcome) => {
      const runtime = simulatedRuntime(8);
      const { provider, last, setState } = scripted(runtime, "session");
      const settled: string[] = [];
      provider.events.on("acquire-settled", ({ outcome }) => settled.push(outcome));
      const stop = new AbortController();
      provider.events.on("session-state", () => stop.abort("no more"));
      const acquired = provider.reentrantMutex("a").acquire({ signal: stop.signal });
      const ended =
        outcome === "aborted"
          ? expect(acquired).rejects.toBe("no more")
          : expect(acquired).resolves.toMatchObject({ name: "a" });
      await runtime.advance(1);
      const grant = new ScriptedGrant(farMs);
      let readings = 0;
      vi.spyOn(grant, "validUntilMs").mockImplementation(() => {
        if (++readings === reading) setState("suspended");
        return farMs;
      });
      last().granted.resolve(grant);
      await runtime.advance(1);
      await ended;
      expect(settled).toEqual([outcome]);
      expect(provider.holds()).toHaveLength(outcome === "granted" ? 1 : 0);
    },
  );

  it("delivers no grant while contact is broken: a round trip has to show that it still stands", async () => {
    const runtime = simulatedRuntime(8);
    const { provider, requests, last, contacts, setState } = scripted(runtime, "session");
    const handles: LockHandle[] = [];
    const acquire = () =>
      provider
        .mutex("a")
        .acquire()
        .then((handle) => handles.push(handle));
    void acquire();
    await runtime.advance(1);
    const grant = new ScriptedGrant(farMs);
    last().granted.resolve(grant);
    setState("suspended");
    await runtime.advance(1);
    expect(handles).toHaveLength(0);
    setState("connected");
    for (const contact of contacts) contact.resolve();
    await runtime.advance(1);
    expect(handles).toHaveLength(0);
    expect(grant.renewals).toHaveLength(1);
    grant.renewals[0]?.answer.resolve(null);
    // The lock was lost meanwhile: core asks for it again and gets another place in the queue.
    await runtime.advance(5_000);
    expect(requests).toHaveLength(2);
    expect(handles).toHaveLength(0);
    last().granted.resolve(new ScriptedGrant(farMs));
    await runtime.advance(1);
    expect(handles).toHaveLength(1);
  });

  it("does not deliver a grant whose time is over already", async () => {
    const runtime = simulatedRuntime(9);
    const { provider, requests, last } = scripted(runtime, "ttl");
    let delivered: LockHandle | undefined;
    void provider
      .mutex("a")
      .acquire()
      .then((handle) => {
        delivered = handle;
      });
    const grant = new ScriptedGrant(runtime.nowMs() + 100);
    last().granted.resolve(grant);
    runtime.block(101);
    await runtime.advance(3_000);
    expect(delivered).toBeUndefined();
    expect(requests[0]?.cancels).toBe(1);
    expect(requests).toHaveLength(2);
  });

  it("proves a lease anew before delivery when the machine may have slept since the request was sent", async () => {
    const runtime = simulatedRuntime(12);
    const { provider, last } = scripted(runtime, "ttl");
    let delivered: LockHandle | undefined;
    void provider
      .mutex("a")
      .acquire()
      .then((handle) => {
        delivered = handle;
      });
    await runtime.advance(1);
    runtime.stepWall(20_000);
    const grant = new ScriptedGrant(runtime.nowMs() + 30_000);
    last().granted.resolve(grant);
    await runtime.advance(1);
    expect(delivered).toBeUndefined();
    expect(grant.renewals).toHaveLength(1);
    grant.renewed(runtime.nowMs() + 30_000);
    await runtime.advance(1);
    expect(delivered?.state).toBe("held");
    delivered?.assertHeld(29_000);
  });

  it("is rejected by close(), and a grant that comes later is taken back", async () => {
    const runtime = simulatedRuntime(10);
    const { provider, last } = scripted(runtime, "session");
    const waiting = provider.mutex("a").acquire();
    const rejected = expect(waiting).rejects.toBeInstanceOf(ProviderClosedError);
    await runtime.advance(1);
    const closing = provider.close();
    last().granted.resolve(new ScriptedGrant(farMs));
    await rejected;
    expect(await closing).toEqual({ released: 0, unconfirmed: [] });
    expect(last().cancels).toBe(1);
  });

  it("emits wake-ups, lost places and high counters with owner and name", async () => {
    const runtime = simulatedRuntime(11);
    const { provider, last } = scripted(runtime, "session");
    const told: object[] = [];
    for (const type of ["notified", "requeued", "sequence-high"] as const) {
      provider.events.on(type, (event) => told.push({ type, name: event.name, owner: event.owner.label }));
    }
    const waiting = provider.mutex("a").acquire({ label: "me" });
    const { progress, granted } = last();
    progress.requeued("entry-gone");
    progress.notified();
    progress.sequenceHigh(1_000_000_001);
    granted.resolve(new ScriptedGrant(farMs));
    await waiting;
    progress.notified();
    expect(told).toEqual(
      ["requeued", "notified", "sequence-high"].map((type) => ({ type, name: "a", owner: "me" })),
    );
  });
});
