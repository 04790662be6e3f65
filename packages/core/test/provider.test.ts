import { channel, tracingChannel } from "node:diagnostics_channel";
import {
  InvalidArgumentError,
  type LockHandle,
  memoryLocks,
  tokenGate,
  UnsupportedError,
} from "@holdfast/core";
import { resolveProviderOptions, validateLockName } from "@holdfast/core/internal";
import { memoryControls, simulatedRuntime } from "@holdfast/core/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { scripted } from "./scripted-driver.js";

describe("a provider", () => {
  it("refuses options that it does not know or that make no sense, naming key, value and the nearest known", () => {
    const wrong: [object, RegExp][] = [
      [
        { conectTimeoutMs: 5 },
        /memoryLocks does not know the option "conectTimeoutMs"; did you mean connectTimeoutMs\?/,
      ],
      [{ zzz: 1 }, /does not know the option "zzz"\. Known: connectTimeoutMs/],
      [{ connectTimeoutMs: 0 }, /connectTimeoutMs must be .* 1 or more and finite; got 0/],
      [{ releaseTimeoutMs: Infinity }, /releaseTimeoutMs .*got Infinity/],
      [{ defaultWaitMs: Number.NaN }, /defaultWaitMs .*got NaN/],
      [{ identity: "yes" }, /identity must be true or false; got "yes"/],
      [{ detectDeadlocks: 1 }, /detectDeadlocks/],
      [{ retry: {} }, /retry must be an object with the method next\(\)/],
      [{ runtime: { nowMs: () => 0 } }, /runtime must be an object with the method wallMs\(\)/],
      [{ space: {} }, /space must be a MemorySpace/],
    ];
    for (const [options, message] of wrong) {
      expect(() => memoryLocks(options)).toThrow(InvalidArgumentError);
      expect(() => memoryLocks(options)).toThrow(message);
    }
    expect(() => memoryLocks("redis" as never)).toThrow(/options must be an object/);
    expect(resolveProviderOptions("x", { identity: true })).toMatchObject({
      connectTimeoutMs: 10_000,
      releaseTimeoutMs: 5_000,
      defaultWaitMs: Infinity,
      identity: true,
      detectDeadlocks: false,
    });
  });

  it.each([
    ["ttl", "leaseMs"],
    ["leaseTime", "leaseMs"],
    ["timeout", "waitMs"],
    ["wait_timeout", "waitMs"],
    ["retryCount", "waitMs"],
    ["autoExtend", "renew"],
    ["abortSignal", "signal"],
  ])("says for the option %s of another library that an acquire calls it %s", async (key, meant) => {
    await using locks = memoryLocks();
    const hint = `does not know the option "${key}"; did you mean ${meant}?`;
    await expect(locks.mutex("orders/42").acquire({ [key]: 1 })).rejects.toThrow(hint);
    await expect(locks.mutex("orders/42").withLock({ [key]: 1 }, () => {})).rejects.toThrow(hint);
  });

  it.each([
    ["connectionString", "connect", ["connect", "connectionPolicy"]],
    ["hosts", "url", ["url", "client"]],
    ["url", "connect", ["connect", "client"]],
    ["servers", "nodes", ["nodes"]],
    ["nodes", "cluster", ["url", "cluster"]],
    ["redis", "client", ["url", "client"]],
    ["prefix", "keyPrefix", ["url", "keyPrefix"]],
    ["timeout", "defaultWaitMs", ["url"]],
  ])("says for the option %s of another library that the factory calls it %s", (key, meant, known) => {
    expect(() => resolveProviderOptions("someLocks", { [key]: 1 }, known)).toThrow(
      `someLocks does not know the option "${key}"; did you mean ${meant}?`,
    );
  });

  it("says how an address is given, without showing it, where it stands for the options", () => {
    const given = (options: unknown, known: string[]) => () =>
      resolveProviderOptions("someLocks", options as object, known);
    const secret = "redis://:secret@h";
    expect(given(secret, ["client", "url"])).toThrow(
      "someLocks: options must be an object; got a string, so write { url: ... }",
    );
    expect(given("h1:2181", ["connect"])).toThrow("so write { connect: ... }");
    expect(given([secret], ["nodes"])).toThrow("got an array, so write { nodes: ... }");
  });

  it("counts the bytes of names, not their characters", () => {
    validateLockName("x".repeat(512));
    validateLockName("é".repeat(256));
    expect(() => validateLockName("é".repeat(257))).toThrow(/at most 512 bytes.*has 514/);
  });

  it("refuses a name with half of a surrogate pair, and takes one with a whole pair", () => {
    validateLockName("x\u{1f512}");
    for (const half of ["x\ud800", "\udc00x", "\u{1f512}".slice(0, 1)])
      expect(() => validateLockName(half)).toThrow(/well-formed Unicode.*half of a surrogate pair/);
  });

  it("says which primitives its backend lacks", () => {
    const { provider: locks } = scripted(simulatedRuntime(1), "session", { primitives: ["mutex"] });
    for (const make of [
      () => locks.reentrantMutex("a"),
      () => locks.readWriteLock("a"),
      () => locks.reentrantReadWriteLock("a"),
      () => locks.semaphore("a", 1),
      () => locks.countDownLatch("a"),
      () => locks.barrier("a"),
      () => locks.doubleBarrier("a", 2),
      () => locks.leaderElection("a"),
    ]) {
      expect(make).toThrow(UnsupportedError);
      expect(make).toThrow(/the backend memory has no /);
    }
  });

  it("uses the options of the view where a call gives none; tryAcquire still asks once", async () => {
    const locks = memoryLocks({ defaultWaitMs: 20 });
    const held = await locks.mutex("a").acquire();
    await expect(locks.mutex("a").acquire()).rejects.toThrow(/waitMs = 20/);
    const lock = locks.mutex("a", { waitMs: 10, label: "view" });
    await expect(lock.acquire()).rejects.toThrow(/waitMs = 10/);
    expect(await locks.mutex("a", { waitMs: 60_000 }).tryAcquire()).toBeNull();
    await held.release();
    const handle = await lock.acquire();
    expect(handle.owner.label).toBe("view");
    expect(() => locks.mutex("a", { waitMs: -1 })).toThrow(InvalidArgumentError);
  });

  it("finds self-deadlocks of plain mutexes with detectDeadlocks", async () => {
    const locks = memoryLocks({ detectDeadlocks: true });
    const lock = locks.mutex("a");
    await lock.withLock(async (handle) => {
      await expect(locks.mutex("a").acquire()).rejects.toMatchObject({ code: "HF_DEADLOCK", lockName: "a" });
      await expect(lock.withLock(() => {})).rejects.toMatchObject({ code: "HF_DEADLOCK" });
      expect(await lock.tryAcquire()).toBeNull();
      await (await locks.mutex("b").acquire()).release();
      await (await memoryLocks().mutex("a").acquire()).release();
      await handle.release();
      await (await lock.acquire()).release();
    });
  });

  it("finds that a plain write waits for its own read, and a plain read for its own write, with detectDeadlocks", async () => {
    const lock = memoryLocks({ detectDeadlocks: true }).readWriteLock("a");
    await lock.read.withLock(async () => {
      await expect(lock.write.acquire()).rejects.toMatchObject({ code: "HF_DEADLOCK", lockName: "a" });
      await expect(lock.write.withLock(() => {})).rejects.toMatchObject({ code: "HF_DEADLOCK" });
      expect(await lock.read.withLock(() => "read twice")).toBe("read twice");
    });
    await lock.write.withLock(async () => {
      await expect(lock.read.acquire()).rejects.toMatchObject({ code: "HF_DEADLOCK" });
      await expect(lock.write.acquire()).rejects.toMatchObject({ code: "HF_DEADLOCK" });
    });
  });

  it("grants a plain mutex to a task that its body did not await, also where another provider has a re-entrant lock", async () => {
    const locks = memoryLocks();
    memoryLocks().reentrantMutex("b");
    let later: Promise<LockHandle> | undefined;
    await locks.mutex("a").withLock(() => {
      later = locks.mutex("a").acquire({ waitMs: 10_000 });
    });
    expect(await (await later)?.release()).toBe("released");
  });

  it("carries 10,000 holds and 1,000 waiters on one signal", async () => {
    const locks = memoryLocks();
    const holds = await Promise.all(
      Array.from({ length: 10_000 }, (_, i) => locks.mutex(`lock-${i}`).acquire()),
    );
    expect(locks.holds()).toHaveLength(10_000);
    const warnings: string[] = [];
    const onWarning = (warning: Error) => warnings.push(warning.name);
    process.on("warning", onWarning);
    const controller = new AbortController();
    const { signal } = controller;
    const waits = Array.from({ length: 1_000 }, () =>
      locks.mutex("lock-0").acquire({ signal, waitMs: 60_000 }),
    );
    controller.abort("all");
    const settled = await Promise.allSettled(waits);
    expect(settled.every((each) => each.status === "rejected" && each.reason === "all")).toBe(true);
    expect(memoryControls(locks).entries("lock-0")).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", onWarning);
    // Other files ran in this process before, and what they left may emit warnings of its own.
    expect(warnings).not.toContain("MaxListenersExceededWarning");
    await Promise.all(holds.slice(0, 5_000).map((handle) => handle.release()));
    expect(await locks.close()).toEqual({ released: 5_000, unconfirmed: [] });
  });

  it("names in its report the locks whose release was not confirmed", async () => {
    const locks = memoryLocks();
    const handle = await locks.mutex("a").acquire();
    memoryControls(locks).suspend();
    expect(await locks.close({ releaseTimeoutMs: 30 })).toEqual({ released: 0, unconfirmed: ["a"] });
    expect(handle.state).toBe("lost");
  });

  it("rejects ready() after waitMs and with the signal's reason", async () => {
    const locks = memoryLocks();
    await locks.ready();
    memoryControls(locks).suspend();
    await expect(locks.ready({ waitMs: 10 })).rejects.toMatchObject({ code: "HF_BACKEND" });
    await expect(locks.ready({ signal: AbortSignal.abort("no") })).rejects.toBe("no");
    const ready = locks.ready();
    memoryControls(locks).reconnect();
    await ready;
  });
});

describe("events", () => {
  it("harm no acquire when a listener throws what cannot be made a text", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const locks = memoryLocks();
    locks.events.on("acquire-settled", () => {
      throw Object.create(null);
    });
    expect((await locks.mutex("x").acquire()).state).toBe("held");
    expect(warned).toHaveBeenCalledWith(expect.stringContaining("without a text"), expect.anything());
    warned.mockRestore();
    await locks.close();
  });

  it("reach the others when one listener throws, and the failure is a warning", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    const locks = memoryLocks();
    const seen: string[] = [];
    locks.events.on("acquire-settled", () => {
      throw new Error("a bad listener");
    });
    const listening = locks.events.on("acquire-settled", (event) => seen.push(event.outcome));
    await (await locks.mutex("a").acquire()).release();
    expect(seen).toEqual(["granted"]);
    expect(String(warn.mock.calls[0]?.[0])).toContain("a bad listener");
    listening[Symbol.dispose]();
    await (await locks.mutex("a").acquire()).release();
    expect(seen).toEqual(["granted"]);
  });

  it("whose listener rejects are no unhandled rejection: the failure is a warning too", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    onTestFinished(() => warn.mockRestore());
    const locks = memoryLocks();
    locks.events.on("released", async () => {
      throw new Error("a bad async listener");
    });
    await (await locks.mutex("a").acquire()).release();
    await expect.poll(() => String(warn.mock.calls[0]?.[0])).toContain("a bad async listener");
  });

  it("are published on diagnostics channels", async () => {
    const seen: [string, object][] = [];
    const names = ["holdfast:lock:lost", "holdfast:lock:released", "holdfast:session:state"];
    const listen = (message: unknown, name: string | symbol) => seen.push([String(name), message as object]);
    for (const name of names) channel(name).subscribe(listen);
    const traced: string[] = [];
    const subscribers = Object.fromEntries(
      (["start", "end", "asyncStart", "asyncEnd", "error"] as const).map((part) => [
        part,
        (message: object) => traced.push(`${part} ${(message as { outcome?: string }).outcome}`),
      ]),
    ) as unknown as Parameters<ReturnType<typeof tracingChannel>["subscribe"]>[0];
    const tracing = tracingChannel("holdfast:acquire");
    tracing.subscribe(subscribers);
    try {
      const locks = memoryLocks();
      await (await locks.mutex("a").acquire()).release();
      await locks.mutex("b").acquire();
      memoryControls(locks).steal("b");
      memoryControls(locks).suspend();
    } finally {
      for (const name of names) channel(name).unsubscribe(listen);
      tracing.unsubscribe(subscribers);
    }
    expect(seen.map(([name]) => name)).toEqual([names[1], names[0], names[2]]);
    expect(seen[1]?.[1]).toMatchObject({ name: "b", reason: "stolen", backend: "memory", kind: "mutex" });
    const one = ["start undefined", "end undefined", "asyncStart granted", "asyncEnd granted"];
    expect(traced).toEqual([...one, ...one]);
  });
});

describe("a token gate", () => {
  it("admits tokens that do not fall, for each resource, and reports the others", () => {
    const provider = memoryLocks();
    const rejected: string[] = [];
    provider.events.on("fencing-rejected", (event) => rejected.push(event.group));
    const gate = tokenGate({ group: "orders", provider });
    expect([5n, 5n, 7n, 6n].map((token) => gate.admit("a", token))).toEqual([true, true, true, false]);
    expect(gate.admit("b", 1n)).toBe(true);
    expect(rejected).toEqual(["orders"]);
  });

  it("refuses to forget, and refuses what is no token", () => {
    const gate = tokenGate({ maxResources: 1 });
    expect(gate.admit("a", 1n)).toBe(true);
    expect(() => gate.admit("b", 1n)).toThrow(/maxResources/);
    expect(() => gate.admit("a", null as never)).toThrow(InvalidArgumentError);
    expect(() => tokenGate({ maxResources: 0 })).toThrow(InvalidArgumentError);
    expect(() => tokenGate({ grup: "x" } as never)).toThrow(/did you mean group/);
  });

  it("without a provider reports on the diagnostics channel", () => {
    const seen: unknown[] = [];
    const listen = (message: unknown) => seen.push(message);
    channel("holdfast:fencing:rejected").subscribe(listen);
    const gate = tokenGate();
    gate.admit("a", 2n);
    gate.admit("a", 1n);
    channel("holdfast:fencing:rejected").unsubscribe(listen);
    expect(seen).toMatchObject([{ group: "default" }]);
  });
});
