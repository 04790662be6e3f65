import { BackendError, DeadlockError, memoryLocks } from "@holdfast/core";
import type { Attempt, AttemptListener } from "@holdfast/core/driver";
import { type SimulatedRuntime, simulatedRuntime } from "@holdfast/core/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ScriptedGrant, scripted } from "./scripted-driver.js";

const farMs = 1e12;

interface Told {
  readonly code: string;
  readonly message: string;
  readonly detail: string;
}

describe("a wait without a limit", () => {
  let told: Told[];
  let runtime: SimulatedRuntime;
  beforeEach(() => {
    told = [];
    runtime = simulatedRuntime(3);
    // Records the warnings instead of printing them.
    vi.spyOn(process, "emitWarning").mockImplementation((message, options) => {
      const { type, code = "", detail = "" } = options ?? {};
      if (type === "HoldfastWarning") told.push({ code, message: String(message), detail });
    });
  });
  afterEach(() => vi.restoreAllMocks());

  it("gets one warning after 30 s, with lock, holder and call site, however many calls wait for that lock", async () => {
    const inspect = async () => ({ held: [{ label: "billing-7", backendId: "n-1" }] }) as never;
    const { provider, requests } = scripted(runtime, "session", { driver: { inspect } });
    async function chargeTheCustomer(): Promise<void> {
      await provider.mutex("orders").acquire();
    }
    for (let i = 0; i < 3; i++) void chargeTheCustomer();
    await runtime.advance(1);
    for (const { progress } of requests) progress.waiting();
    await runtime.advance(29_998);
    expect(told).toEqual([]);
    await runtime.advance(120_000);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ code: "HF_LONG_WAIT" });
    expect(told[0]?.message).toMatch(/"orders" has waited for 30000 ms.*held by billing-7/);
    expect(told[0]?.detail).toMatch(/at (async )?chargeTheCustomer/);
  });

  it("gets its warning after few looks, at whatever fraction of a millisecond it began", async () => {
    let timers = 0;
    const counting = Object.create(runtime, {
      setTimer: {
        value: (...args: Parameters<SimulatedRuntime["setTimer"]>) => {
          timers += 1;
          if (timers > 10_000) throw new Error("the alarm rings again and again");
          return runtime.setTimer(...args);
        },
      },
    }) as SimulatedRuntime;
    const { provider, requests } = scripted(counting, "session");
    for (let at = 0; at < 300; at++) {
      void provider.mutex(`orders-${at}`).acquire();
      requests[at]?.progress.waiting();
      await runtime.advance(0.1);
    }
    await runtime.advance(32_000);
    expect(told).toHaveLength(20);
  });

  it("gets no warning beyond 20 locks, which the last warning says, until one of them is not waited for any more", async () => {
    const { provider, requests } = scripted(runtime, "session");
    for (let i = 0; i < 50; i++) void provider.mutex(`orders-${i}`).acquire();
    for (const { progress } of requests) progress.waiting();
    await runtime.advance(32_000);
    expect(told).toHaveLength(20);
    expect(told.filter(({ message }) => message.includes("no other lock gets one"))).toHaveLength(1);
    requests[0]?.granted.resolve(new ScriptedGrant(farMs));
    void provider.mutex("late").acquire();
    requests.at(-1)?.progress.waiting();
    await runtime.advance(32_000);
    expect(told.at(-1)?.message).toMatch(/"late"/);
    expect(told).toHaveLength(21);
  });

  it("gets its warning without the holder where the server does not say who that is", async () => {
    const { provider, last } = scripted(runtime, "session", {
      driver: { inspect: () => new Promise(() => {}) },
    });
    void provider.mutex("orders").acquire();
    last().progress.waiting();
    await runtime.advance(32_000);
    expect(told.map(({ message }) => message)).toEqual([expect.stringMatching(/its holder is not known/)]);
  });

  it("gets no warning when it ends before, or has a limit, and then nothing is left in the books", async () => {
    const { provider, requests } = scripted(runtime, "session");
    const limited = provider.mutex("a").tryAcquire({ waitMs: 60_000 });
    const granted = provider.mutex("b").acquire();
    for (const { progress } of requests) progress.waiting();
    await runtime.advance(20_000);
    requests[1]?.granted.resolve(new ScriptedGrant(farMs));
    await (await granted).release();
    await runtime.advance(60_000);
    expect([await limited, told]).toEqual([null, []]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it("for a plain mutex that the same provider holds gets its warning after 5 s, with the options that help", async () => {
    const locks = memoryLocks({ runtime });
    await locks.mutex("a").acquire();
    const again = expect(locks.mutex("a").acquire()).rejects.toMatchObject({ code: "HF_PROVIDER_CLOSED" });
    await runtime.advance(4_999);
    expect(told).toEqual([]);
    await runtime.advance(60_000);
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ code: "HF_SELF_WAIT" });
    expect(told[0]?.message).toMatch(/"a".*reentrantMutex.*detectDeadlocks.*DeadlockError/);
    await locks.close();
    await again;
  });

  it("for a mutex that the same provider is giving back is no wait for itself", async () => {
    const { provider, last } = scripted(runtime, "session", { releaseTimeoutMs: 120_000 });
    const grant = new ScriptedGrant(farMs);
    grant.releaseAnswer = undefined;
    const held = provider.mutex("a").acquire();
    last().granted.resolve(grant);
    void (await held).release();
    void provider.mutex("a").acquire();
    last().progress.waiting();
    await runtime.advance(6_000);
    expect(told).toEqual([]);
  });

  it("that is granted in the turn of its warning hears first what came with the grant, such as the end of the session", async () => {
    const { provider, requests } = scripted(runtime, "session");
    void provider.mutex("a").acquire();
    void provider.mutex("b").acquire();
    requests[0]?.progress.waiting(new BackendError("a node sits out"));
    const why = new BackendError("");
    requests[1]?.progress.waiting(why);
    // The second warning reads this message after the first one has asked for the stack of its own call.
    Object.defineProperty(why, "message", {
      get() {
        const [state] = requests[0]?.progress.granted([new ScriptedGrant(farMs)]) ?? [];
        queueMicrotask(() => state?.lost("session-expired"));
        return "a node sits out";
      },
    });
    await runtime.advance(6_000);
    expect(told).toHaveLength(2);
    expect(provider.holds()).toEqual([]);
    expect(requests).toHaveLength(3);
  });

  it("for a plain mutex inside its own body rejects with DeadlockError where detectDeadlocks is set", async () => {
    const locks = memoryLocks({ runtime, detectDeadlocks: true });
    const nested = locks.mutex("a").withLock(() => locks.mutex("a").acquire());
    await expect(nested).rejects.toBeInstanceOf(DeadlockError);
    await locks.close();
  });

  it("that the server refuses again and again gets its warning after 5 s, and one with a limit is no time-out of a lock that is taken", async () => {
    const attempt = (_: unknown, listener: AttemptListener): Attempt => {
      queueMicrotask(() => listener.failed(new BackendError("OOM command not allowed")));
      return { withdraw: async () => {} };
    };
    const { provider } = scripted(runtime, "ttl", { driver: { attempt } });
    void provider.mutex("a").acquire();
    const limited = expect(provider.mutex("b").tryAcquire({ waitMs: 3_000 })).rejects.toBeInstanceOf(
      BackendError,
    );
    await runtime.advance(40_000);
    await limited;
    expect(told.map(({ code }) => code)).toEqual(["HF_BLOCKED_WAIT"]);
    expect(told[0]?.message).toMatch(/"a".*OOM command not allowed/);
  });

  it("for something that is no hold gets its warning after 5 s, and that something is the cause of a time-out", async () => {
    const { provider, requests } = scripted(runtime, "session");
    const limited = provider.mutex("a").acquire({ waitMs: 1_000 });
    void provider.mutex("b").acquire();
    const why = new BackendError("three nodes sit out for 25 s more");
    for (const { progress } of requests) progress.waiting(why);
    const failed = expect(limited).rejects.toMatchObject({ code: "HF_ACQUIRE_TIMEOUT", cause: why });
    await runtime.advance(60_000);
    await failed;
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ code: "HF_BLOCKED_WAIT" });
    expect(told[0]?.message).toMatch(/"b".*three nodes sit out for 25 s more/);
  });
});
