import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import { type LockProvider, memoryLocks, tokenGate } from "@holdfast/core";
import { memoryControls, simulatedRuntime } from "@holdfast/core/testing";
import { Counter, Registry, register } from "prom-client";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type LockMetrics, type LockMetricsOptions, lockCatalogue, lockMetrics } from "../src/index.js";
import { fakeProvider, lockOf } from "./fake-provider.js";
import { sample } from "./samples.js";

const mutex = { backend: "memory", recipe: "mutex", lock_group: "orders/*" };
const closing: (() => unknown)[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  for (const close of closing.splice(0).reverse()) await close();
});

function measured(options: LockMetricsOptions = {}): {
  locks: LockProvider;
  metrics: LockMetrics;
  registry: Registry;
} {
  const locks = memoryLocks();
  const metrics = lockMetrics(locks, options);
  closing.push(
    () => metrics.close(),
    () => locks.close(),
  );
  return { locks, metrics, registry: metrics.registry as Registry };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await condition()).toBe(true), { timeout: 20_000, interval: 1 });
}

describe("lock metrics of a provider", () => {
  it("time acquires by outcome, and holds by their end", async () => {
    const { locks, registry } = measured();
    const lock = locks.mutex("orders/1");
    const handle = await lock.acquire();
    expect(await locks.mutex("orders/2").withLock(async () => "done")).toBe("done");
    expect(await lock.tryAcquire()).toBeNull();
    await expect(lock.acquire({ waitMs: 1 })).rejects.toThrow();
    await expect(lock.acquire({ signal: AbortSignal.timeout(1) })).rejects.toThrow();
    const count = (outcome: string) =>
      sample(registry, "holdfast_lock_acquire_duration_seconds_count", { ...mutex, outcome });
    expect(await count("granted")).toBe(2);
    expect(await count("unavailable")).toBe(1);
    expect(await count("timeout")).toBe(1);
    expect(await count("aborted")).toBe(1);
    expect(await count("error")).toBeUndefined();
    expect(await sample(registry, "holdfast_lock_acquire_contended_total", mutex)).toBe(3);
    expect(
      await sample(registry, "holdfast_lock_acquire_round_trips_count", {
        backend: "memory",
        recipe: "mutex",
      }),
    ).toBe(2);
    await handle.release();
    const ends = { ...mutex, end: "released" };
    expect(await sample(registry, "holdfast_lock_hold_duration_seconds_count", ends)).toBe(2);
  });

  it("show holds and waiters of now, and the age of the oldest, at each scrape", async () => {
    const { locks, registry } = measured();
    const first = await locks.mutex("orders/1").acquire();
    const second = await locks.mutex("orders/2").acquire();
    const waiting = locks.mutex("orders/1").acquire();
    const startedMs = performance.now();
    expect(await sample(registry, "holdfast_locks_held", mutex)).toBe(2);
    expect(await sample(registry, "holdfast_lock_waiters", mutex)).toBe(1);
    await until(() => performance.now() - startedMs > 20);
    expect(await sample(registry, "holdfast_lock_oldest_wait_seconds", mutex)).toBeGreaterThan(0.019);
    expect(await sample(registry, "holdfast_lock_oldest_hold_seconds", mutex)).toBeGreaterThan(0.019);
    await first.release();
    await (await waiting).release();
    await second.release();
    for (const gauge of [
      "locks_held",
      "lock_waiters",
      "lock_oldest_wait_seconds",
      "lock_oldest_hold_seconds",
    ]) {
      expect([gauge, await sample(registry, `holdfast_${gauge}`, mutex)]).toEqual([gauge, 0]);
    }
  });

  it("count what is lent of kept locks, and why locks are kept no longer", async () => {
    const locks = memoryLocks({ keepMs: 60_000 });
    closing.push(() => locks.close());
    const { registry, close } = lockMetrics(locks);
    closing.push(async () => close());
    const pair = async (name: string, readToken = false) => {
      const handle = await locks.mutex(name).acquire();
      if (readToken) expect(handle.token).not.toBeNull();
      await handle.release();
    };
    for (const name of ["a", "a", "a", "a", "b", "b"]) await pair(name);
    await locks.mutex("a").acquire();
    const recipe = { backend: "memory", recipe: "mutex" };
    const ended = (reason: string) =>
      sample(registry, "holdfast_lock_keepings_ended_total", { ...recipe, reason });
    expect(await sample(registry, "holdfast_lock_grants_lent_total", recipe)).toBe(3);
    for (const state of ["idle", "lent"])
      expect(await sample(registry, "holdfast_locks_kept", { backend: "memory", state })).toBe(1);
    expect(await ended("token_read")).toBe(0);
    await pair("b", true);
    expect(await ended("token_read")).toBe(1);
    expect(await sample(registry, "holdfast_lock_keepings_unused_total", recipe)).toBe(0);
    await pair("b");
    await (await locks.mutex("b").acquire({ fresh: true })).release();
    expect(await ended("not_lendable")).toBe(1);
    expect(await sample(registry, "holdfast_lock_keepings_unused_total", recipe)).toBe(1);
  });

  it("count holds that were there before the metrics", async () => {
    const locks = memoryLocks();
    closing.push(() => locks.close());
    await locks.readWriteLock("orders/1").read.acquire();
    const metrics = lockMetrics(locks);
    closing.push(() => metrics.close());
    const labels = { ...mutex, recipe: "read_write_lock" };
    expect(await sample(metrics.registry, "holdfast_locks_held", labels)).toBe(1);
  });

  it("count a loss under its reason, as the end of a hold", async () => {
    const { locks, registry } = measured();
    const lost = { ...mutex, reason: "stolen" };
    const handle = await locks.mutex("orders/1").acquire();
    // The series must exist before a loss happens: without a 0 to start from, the first loss would not be an increase.
    expect(await sample(registry, "holdfast_lock_lost_total", lost)).toBe(0);
    memoryControls(locks).steal("orders/1");
    await until(() => handle.state === "lost");
    expect(await sample(registry, "holdfast_lock_lost_total", lost)).toBe(1);
    expect(
      await sample(registry, "holdfast_lock_hold_duration_seconds_count", { ...mutex, end: "lost" }),
    ).toBe(1);
    expect(await sample(registry, "holdfast_locks_held", mutex)).toBe(0);
  });

  it.each([
    ["redis", "lease-missing"],
    ["zookeeper", "session-expired"],
  ] as const)("count a hold on %s that its release finds gone as lost, %s", async (backend, reason) => {
    const { provider, hub } = fakeProvider(backend);
    const metrics = lockMetrics(provider);
    closing.push(() => metrics.close());
    const labels = { ...mutex, backend, reason: reason.replace("-", "_") };
    const losses = () => sample(metrics.registry, "holdfast_lock_lost_total", labels);
    const end = { ...lockOf("orders/1"), heldMs: 5, kept: false, turn: 0 };
    hub.emit("released", { ...end, outcome: "released" });
    expect(await losses()).toBe(0);
    hub.emit("released", { ...end, outcome: "lost", reason });
    expect(await losses()).toBe(1);
  });

  it("time a hand-off from the wake-up to the grant", async () => {
    let nowMs = 1_000;
    const { provider, hub } = fakeProvider("zookeeper", { nowMs: () => nowMs });
    const metrics = lockMetrics(provider);
    closing.push(() => metrics.close());
    const lock = lockOf("orders/1");
    hub.emit("acquire-started", lock);
    nowMs += 5_000;
    hub.emit("notified", lock);
    nowMs += 30;
    hub.emit("acquire-settled", {
      ...lock,
      outcome: "granted",
      waitedMs: 5_030,
      roundTrips: 2,
      contended: true,
      token: 1n,
      kept: false,
      turn: 0,
    });
    const labels = { backend: "zookeeper", recipe: "mutex" };
    expect(await sample(metrics.registry, "holdfast_lock_handoff_duration_seconds_sum", labels)).toBeCloseTo(
      0.03,
      9,
    );
    expect(await sample(metrics.registry, "holdfast_lock_handoff_duration_seconds_count", labels)).toBe(1);
  });

  it("distinguish acquires of one owner by lock and mode", async () => {
    const { provider, hub } = fakeProvider("redis");
    const metrics = lockMetrics(provider);
    closing.push(() => metrics.close());
    const owner = { id: "job-7" };
    const locks = ["a", "b", "b"].map((name) => lockOf(name, "mutex", owner));
    const waiters = (name: string) =>
      sample(metrics.registry, "holdfast_lock_waiters", {
        backend: "redis",
        recipe: "mutex",
        lock_group: name,
      });
    for (const lock of locks) hub.emit("acquire-started", lock);
    expect([await waiters("a"), await waiters("b")]).toEqual([1, 2]);
    const settled = {
      outcome: "timeout",
      waitedMs: 1,
      roundTrips: 0,
      contended: true,
      token: null,
      kept: false,
      turn: 0,
    } as const;
    hub.emit("acquire-settled", { ...lockOf("b", "mutex", owner), ...settled });
    expect([await waiters("a"), await waiters("b")]).toEqual([1, 1]);
    // The acquire that settles here began before the metrics listened, so it must not lower the count.
    hub.emit("acquire-settled", { ...lockOf("a", "mutex", { id: "job-8" }), ...settled });
    expect(await waiters("a")).toBe(1);
    hub.emit("acquire-settled", { ...lockOf("a", "mutex", owner), ...settled });
    hub.emit("acquire-settled", { ...lockOf("b", "mutex", owner), ...settled });
    expect([await waiters("a"), await waiters("b")]).toEqual([0, 0]);
  });

  it("time requests on the wire, and count renewals with what was left of the lease", async () => {
    const { provider, hub } = fakeProvider("redis");
    const metrics = lockMetrics(provider);
    closing.push(() => metrics.close());
    const renewals = (outcome: string) =>
      sample(metrics.registry, "holdfast_lock_renewals_total", { backend: "redis", outcome });
    expect(await renewals("error")).toBe(0);
    hub.emit("renewed", { ...lockOf("a"), tookMs: 1, marginMs: 20_000 });
    hub.emit("renew-failed", { ...lockOf("a"), error: new Error("no"), marginMs: 90 });
    hub.emit("request-settled", { op: "acquire", tookMs: 4, outcome: "ok" });
    expect([await renewals("ok"), await renewals("error")]).toEqual([1, 1]);
    expect(
      await sample(metrics.registry, "holdfast_lock_renewal_margin_seconds_sum", { backend: "redis" }),
    ).toBeCloseTo(20.09, 9);
    expect(
      await sample(metrics.registry, "holdfast_backend_request_duration_seconds_sum", {
        backend: "redis",
        op: "acquire",
      }),
    ).toBeCloseTo(0.004, 9);
  });

  it("count the rejections of a token gate once, with a provider and without", async () => {
    const { locks, registry } = measured();
    const stranger = memoryLocks();
    closing.push(() => stranger.close());
    for (const options of [
      { provider: locks, group: "mine" },
      { group: "nobodys" },
      { provider: stranger, group: "others" },
    ]) {
      const gate = tokenGate(options);
      gate.admit("invoice", 7n);
      gate.admit("invoice", 6n);
    }
    const rejections = (group: string) =>
      sample(registry, "holdfast_fencing_rejections_total", { resource_group: group });
    expect([await rejections("mine"), await rejections("nobodys"), await rejections("others")]).toEqual([
      1,
      1,
      undefined,
    ]);
  });

  it("call a cluster connected while all its providers are", async () => {
    const [one, two] = [fakeProvider("zookeeper"), fakeProvider("zookeeper")];
    const metrics = lockMetrics([one.provider, two.provider]);
    closing.push(() => metrics.close());
    const labels = { backend: "zookeeper", cluster: "zk:2181" };
    for (const fake of [one, two]) {
      fake.state = "connected";
      fake.hub.emit("session-state", {
        state: "connected",
        timeoutMs: fake === one ? 4_000 : 6_000,
        cluster: "zk:2181",
      });
    }
    expect(await sample(metrics.registry, "holdfast_session_connected", labels)).toBe(1);
    expect(await sample(metrics.registry, "holdfast_session_timeout_seconds", labels)).toBe(4);
    two.state = "suspended";
    expect(await sample(metrics.registry, "holdfast_session_connected", labels)).toBe(0);
    const changes = (state: string) =>
      sample(metrics.registry, "holdfast_session_state_changes_total", { ...labels, state });
    expect([await changes("connected"), await changes("lost")]).toEqual([2, 0]);
  });

  it("put the trace of the caller of acquire on its time, though it settles elsewhere", async () => {
    const traces = new AsyncLocalStorage<string>();
    const { locks, registry } = measured({ traceId: () => traces.getStore() });
    const lock = locks.mutex("orders/1");
    const first = await lock.acquire();
    const waiting = traces.run("caller-trace", () => lock.acquire());
    await traces.run("releaser-trace", () => first.release());
    await (await waiting).release();
    const text = await registry.metrics();
    expect(text).toContain('# {trace_id="caller-trace"}');
    expect(text).not.toContain("releaser-trace");
    expect(registry.contentType).toContain("openmetrics");
  });
});

describe("a function traceId that throws", () => {
  it("costs the exemplar alone, with one warning", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const { locks, registry } = measured({
      traceId: () => {
        throw new Error("no context");
      },
    });
    for (let times = 0; times < 2; times++) await (await locks.mutex("orders/1").acquire()).release();
    expect(await registry.metrics()).toMatch(
      /holdfast_lock_acquire_duration_seconds_count\{[^}]*outcome="granted"[^}]*\} 2/,
    );
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringMatching(/^the function traceId of lockMetrics threw/),
    ]);
    warn.mockRestore();
  });
});

describe("the limit of groups", () => {
  it("keeps the first groups, counts the rest as one, and says so", async () => {
    const { locks, registry } = measured({ group: (name) => name, maxGroups: 2 });
    for (const name of ["a", "b", "c", "d", "a"]) await (await locks.mutex(name).acquire()).release();
    const granted = (lock_group: string) =>
      sample(registry, "holdfast_lock_acquire_duration_seconds_count", {
        ...mutex,
        lock_group,
        outcome: "granted",
      });
    expect([await granted("a"), await granted("b"), await granted("c"), await granted("__other__")]).toEqual([
      2,
      1,
      undefined,
      2,
    ]);
    expect(await sample(registry, "holdfast_metrics_label_overflow_total", { label: "lock_group" })).toBe(2);
    expect(await sample(registry, "holdfast_metrics_label_overflow_total", { label: "op" })).toBe(0);
  });

  it("bounds the series under names without end", async () => {
    const { locks, registry } = measured({ group: (name) => name });
    for (let i = 0; i < 6_000; i++) await (await locks.mutex(`n${i}`).acquire()).release();
    const text = await registry.metrics();
    expect(new Set(text.match(/lock_group="[^"]*"/g)).size).toBe(201);
    expect(
      await sample(registry, "holdfast_lock_hold_duration_seconds_count", {
        ...mutex,
        lock_group: "__other__",
        end: "released",
      }),
    ).toBe(5_800);
  });

  it("survives a function that throws or gives no string, with one warning", async () => {
    const warnings: string[] = [];
    vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(String(warning)));
    const group = (name: string) => {
      if (name === "a") throw new Error("boom");
      return 7 as unknown as string;
    };
    const { locks, registry } = measured({ group });
    for (const name of ["a", "b"]) await (await locks.mutex(name).acquire()).release();
    expect(
      await sample(registry, "holdfast_lock_acquire_duration_seconds_count", {
        ...mutex,
        lock_group: "__other__",
        outcome: "granted",
      }),
    ).toBe(2);
    expect(warnings).toEqual([expect.stringContaining("boom")]);
  });
});

describe("the registry", () => {
  it("is its own by default, with nothing in the global one and no default metrics", async () => {
    const { registry } = measured();
    expect(registry).not.toBe(register);
    expect(register.getMetricsAsArray()).toEqual([]);
    expect(
      registry
        .getMetricsAsArray()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(lockCatalogue.entries.map(({ name }) => `holdfast_${name}`).sort());
  });

  it("may be given, keeps what others have in it, and is left without ours after close", async () => {
    const registry = new Registry();
    new Counter({ name: "theirs_total", help: "Theirs.", registers: [registry] });
    const { locks, metrics } = measured({ registry });
    expect(() => lockMetrics(memoryLocks(), { registry })).toThrow(
      /has a metric holdfast_lock_acquire_duration_seconds already/,
    );
    metrics.close();
    metrics.close();
    expect(registry.getMetricsAsArray().map(({ name }) => name)).toEqual(["theirs_total"]);
    const again = lockMetrics(locks, { registry });
    closing.push(() => again.close());
    await (await locks.mutex("orders/1").acquire()).release();
    expect(
      await sample(registry, "holdfast_lock_acquire_duration_seconds_count", {
        ...mutex,
        outcome: "granted",
      }),
    ).toBe(1);
  });

  it("leaves no listener behind after close", () => {
    const { provider, hub } = fakeProvider("memory");
    const metrics = lockMetrics(provider);
    expect(hub.has("acquire-settled")).toBe(true);
    metrics.close();
    const types = [
      "acquire-started",
      "notified",
      "requeued",
      "acquire-settled",
      "released",
      "lost",
      "release-failed",
    ] as const;
    const more = ["renewed", "renew-failed", "request-settled", "fencing-rejected", "session-state"] as const;
    expect([...types, ...more].filter((type) => hub.has(type))).toEqual([]);
  });
});

describe("what is given to lockMetrics", () => {
  it.each([
    [{ groups: () => "a" }, /does not know the option "groups"; did you mean group\?/],
    [{ maxGroups: 0 }, /maxGroups must be a whole number from 1/],
    [{ group: "orders" }, /group must be a function/],
    [{ registry: {} }, /registry must be an object with the method registerMetric/],
    [{ registry: new Registry(), traceId: () => "t" }, /traceId needs a registry in the OpenMetrics format/],
  ])("is refused as %o", (options, message) => {
    expect(() => lockMetrics(memoryLocks(), options as LockMetricsOptions)).toThrow(message);
  });

  it("is refused when it is no provider, or the same one twice", () => {
    const locks = memoryLocks({ runtime: simulatedRuntime(1) });
    expect(() => lockMetrics({} as LockProvider)).toThrow(/provider must be an object with the method holds/);
    expect(() => lockMetrics([locks, locks])).toThrow(/given twice/);
  });

  it("measures nothing, and says so, where prom-client is not installed", async () => {
    const { Module } = createRequire(import.meta.url)("node:module") as {
      Module: { _resolveFilename: (...args: unknown[]) => string };
    };
    const resolve = Module._resolveFilename;
    vi.spyOn(Module, "_resolveFilename").mockImplementation((...args) => {
      if (args[0] === "prom-client")
        throw Object.assign(new Error("no prom-client"), { code: "MODULE_NOT_FOUND" });
      return resolve(...args);
    });
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const locks = memoryLocks();
    closing.push(() => locks.close());
    const metrics = lockMetrics(locks);
    expect(metrics.registry).toBeUndefined();
    expect(warned).toHaveBeenCalledWith(
      expect.stringContaining("npm install prom-client"),
      expect.anything(),
    );
    await (await locks.mutex("a").acquire()).release();
    metrics.close();
  });
});
