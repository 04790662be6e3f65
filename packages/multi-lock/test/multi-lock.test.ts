import {
  type AcquireOptions,
  AcquireTimeoutError,
  BackendError,
  DeadlockError,
  EvictedError,
  InvalidArgumentError,
  LockLostError,
  type LockProvider,
  MemorySpace,
  type MultiLockPart,
  memoryLocks,
  NotHeldError,
  ProviderClosedError,
  UnsupportedError,
} from "@holdfast/core";
import { viewPartsOf } from "@holdfast/core/internal";
import { memoryControls, simulatedRuntime } from "@holdfast/core/testing";
import { multiLock } from "@holdfast/multi-lock";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { forwarding, jointly, worldProvider } from "./world.js";

let space: MemorySpace;
let locks: LockProvider;
let other: LockProvider;
/** Events of `locks`, in order. */
let told: string[];

beforeEach(() => {
  space = new MemorySpace();
  locks = memoryLocks({ space });
  other = memoryLocks({ space });
  told = [];
  follow(locks);
});

function follow(provider: LockProvider): void {
  provider.events.on("acquire-settled", ({ name, outcome }) => told.push(`${outcome} ${name}`));
  provider.events.on("released", ({ name, outcome }) => told.push(`${outcome} ${name}`));
  provider.events.on("release-failed", ({ name, reason }) => told.push(`${reason} ${name}`));
  provider.events.on("lost", ({ name, reason }) => told.push(`${reason} ${name}`));
}

const mutexes = (names: string, provider = locks) => [...names].map((name) => provider.mutex(name));
const entries = (name: string) => memoryControls(other).entries(name);
const until = (condition: () => boolean) => vi.waitUntil(condition, { timeout: 20_000, interval: 1 });

/** From here on, `release` takes the place of the grant's own release for these names. By default it rejects. */
function refuseReleases(
  names: readonly string[],
  release: (name: string) => Promise<boolean> = refusal,
): void {
  const driver = viewPartsOf(locks.mutex("any"))?.engine.driver;
  if (driver === undefined) throw new Error("not a view of core's");
  const attempt = driver.attempt.bind(driver);
  driver.attempt = (requests, listener) =>
    attempt(requests, {
      ...forwarding(listener),
      granted(grants) {
        for (const [i, { name }] of requests.entries()) {
          const grant = grants[i];
          if (grant !== undefined && names.includes(name)) grant.release = () => release(name);
        }
        return listener.granted(grants);
      },
    });
}

function refusal(lockName: string): Promise<boolean> {
  return Promise.reject(new BackendError(`NoAuth for ${lockName}`, { lockName, retryable: false }));
}

describe("multiLock", () => {
  it.each([
    [[], /one lock or more; got none/],
    ["ab", /got "ab"/],
    [[undefined], /parts\[0\] is undefined/],
    [[{ name: "a" }], /parts\[0\].*acquire\(\)/],
  ] as const)("refuses %j", (parts, message) => {
    const make = () => multiLock(parts as unknown as MultiLockPart[]);
    expect(make).toThrow(InvalidArgumentError);
    expect(make).toThrow(message);
  });

  it("keeps no part of a set that it did not get", async () => {
    locks = memoryLocks({ space, keepMs: 60_000 });
    await other.mutex("b").acquire();
    // The first hold of a name is never kept, so "a" is held once before.
    await (await locks.mutex("a").acquire()).release({ keep: false });
    expect(await multiLock(mutexes("ab")).tryAcquire()).toBeNull();
    expect(locks.kept()).toEqual([]);
    await expect(multiLock(mutexes("ab")).acquire({ waitMs: 20 })).rejects.toThrow(AcquireTimeoutError);
    expect(locks.kept()).toEqual([]);
    expect((await other.mutex("a").inspect()).held).toEqual([]);
  });

  it("refuses the same lock twice: by object, by name, and as another kind on that name", () => {
    const mutex = locks.mutex("a");
    const twice = [
      [mutex, mutex],
      [mutex, locks.mutex("b"), locks.mutex("a")],
      [mutex, locks.reentrantMutex("a")],
      [locks.readWriteLock("a").read, locks.readWriteLock("a").write],
    ];
    for (const parts of twice) expect(() => multiLock(parts)).toThrow(/take the same lock, "a"/);
    // The same name at another provider may be another lock.
    multiLock([mutex, memoryLocks().mutex("a")]);
  });

  it("refuses the same lock twice within the multi-locks that are its parts, however deep", () => {
    const both = multiLock(mutexes("ab"));
    const deep = multiLock([multiLock([both, locks.mutex("c")]), locks.mutex("d")]);
    const twice: readonly (readonly MultiLockPart[])[] = [
      [locks.mutex("b"), both],
      [both, both],
      [multiLock(mutexes("bx")), deep],
    ];
    for (const parts of twice) {
      expect(() => multiLock(parts)).toThrow(InvalidArgumentError);
      expect(() => multiLock(parts)).toThrow(/parts\[0\] and parts\[1\] take the same lock, "[ab]"/);
    }
    multiLock([deep, multiLock(mutexes("xy"))]);
  });

  it("has handles that refuse options which no part knows, and give nothing back then", async () => {
    const handle = await multiLock(mutexes("ab")).acquire();
    for (const options of [null, { zzz: 1 }]) {
      await expect(handle.confirm(options as never)).rejects.toThrow(InvalidArgumentError);
      await expect(handle.release(options as never)).rejects.toThrow(InvalidArgumentError);
    }
    expect(handle.state).toBe("held");
    expect(await handle.release()).toBe("released");
  });

  it("refuses a part that stays taken after its release, since a part goes back when a later one is missing", () => {
    const parts = [locks.mutex("b"), locks.mutex("a", { holdAtLeastMs: 1_000 })];
    expect(() => multiLock(parts)).toThrow(InvalidArgumentError);
    expect(() => multiLock(parts)).toThrow(/parts\[1\] has holdAtLeastMs = 1000/);
  });

  it("refuses wrong options before anything is asked for", async () => {
    const lock = multiLock(mutexes("ab"));
    for (const [options, message] of [
      [{ order: "up" }, /order must be "sorted" or "given"; got "up"/],
      [{ waitMs: -1 }, /waitMs/],
      [{ orders: "given" }, /did you mean order/],
      [{ holdAtLeastMs: 1_000 }, /does not know the option "holdAtLeastMs"/],
    ] as const) {
      await expect(lock.acquire(options as object)).rejects.toThrow(message);
    }
    await expect(lock.withLock({}, "body" as never)).rejects.toThrow(InvalidArgumentError);
    expect(told).toEqual([]);
  });

  it("takes its parts by name and gives them back the other way round", async () => {
    const handle = await multiLock(mutexes("cab")).acquire();
    expect(handle.parts.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(handle).toMatchObject({ name: "a, b, c", mode: "exclusive", token: null, state: "held" });
    expect(handle.owner).toBe(handle.parts[0]?.owner);
    expect(await handle.release()).toBe("released");
    expect(told).toEqual(["granted a", "granted b", "granted c", "released c", "released b", "released a"]);
  });

  it("takes them as they were given when that is asked for", async () => {
    const handle = await multiLock(mutexes("cab")).acquire({ order: "given" });
    expect(handle.parts.map(({ name }) => name)).toEqual(["c", "a", "b"]);
    await handle.release();
  });

  it("sorts by code units, whatever the locale says", async () => {
    const handle = await multiLock(["ä", "a", "Z", "é/1", "é"].map((name) => locks.mutex(name))).acquire();
    expect(handle.parts.map(({ name }) => name)).toEqual(["Z", "a", "ä", "é", "é/1"]);
    await handle.release();
  });

  it("takes parts that are only acquirable, and those without a name only as they were given", async () => {
    const [a, b] = mutexes("ab") as unknown as [MultiLockPart, MultiLockPart];
    const wrapped = (lock: MultiLockPart, name?: string): MultiLockPart => ({
      ...(name === undefined ? {} : { name }),
      acquire: (options) => lock.acquire(options),
      tryAcquire: (options) => lock.tryAcquire(options),
    });
    const named = await multiLock([wrapped(b, "b"), wrapped(a, "a")]).acquire();
    expect(named.parts.map(({ name }) => name)).toEqual(["a", "b"]);
    await named.release();
    const nameless = multiLock([wrapped(b), wrapped(a)]);
    await expect(nameless.acquire()).rejects.toThrow(/parts\[0\] has no name to sort by/);
    const given = await nameless.acquire({ order: "given" });
    expect(given.parts.map(({ name }) => name)).toEqual(["b", "a"]);
    await given.release();
  });

  it("shares one time among all parts", async () => {
    const runtime = simulatedRuntime(3);
    const running = runtime.autoAdvance();
    const [ours, theirs] = [1, 2].map(() => memoryLocks({ space, runtime })) as unknown as [
      LockProvider,
      LockProvider,
    ];
    const [a, b] = [await theirs.mutex("a").acquire(), await theirs.mutex("b").acquire()];
    const startedMs = runtime.nowMs();
    runtime.setTimer(600, () => void a.release(), { ref: true });
    const error = await multiLock(mutexes("bca", ours))
      .acquire({ waitMs: 1_000 })
      .catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(AcquireTimeoutError);
    expect(error).toMatchObject({ lockName: "b" });
    expect((error as Error).message).toMatch(/"b", the first missing of the 3 .* within waitMs = 1000/);
    expect(runtime.nowMs() - startedMs).toBeGreaterThanOrEqual(999);
    expect(runtime.nowMs() - startedMs).toBeLessThan(1_100);
    expect([entries("a"), entries("b"), entries("c")]).toEqual([0, 1, 0]);
    await b.release();
    running[Symbol.dispose]();
  });

  it("waits no longer than a part would by itself, when the call says nothing", async () => {
    const holder = await other.mutex("b").acquire();
    const lock = multiLock([locks.mutex("a"), locks.mutex("b", { waitMs: 30 })]);
    await expect(lock.acquire()).rejects.toThrow(AcquireTimeoutError);
    await holder.release();
  });

  it("tries: null when one is taken, with nothing left of the others", async () => {
    const holder = await other.mutex("b").acquire();
    const lock = multiLock(mutexes("abc"));
    expect(await lock.tryAcquire()).toBeNull();
    expect(await lock.tryAcquire({ waitMs: 20 })).toBeNull();
    expect([entries("a"), entries("b"), entries("c")]).toEqual([0, 1, 0]);
    await holder.release();
    expect(await (await lock.tryAcquire())?.release()).toBe("released");
  });

  it("leaves nothing when it is aborted while it waits, and rejects with the very reason", async () => {
    const holder = await other.mutex("c").acquire();
    const controller = new AbortController();
    const reason = { why: "enough" };
    const acquiring = multiLock(mutexes("abc")).acquire({ signal: controller.signal });
    await until(() => entries("c") === 2);
    controller.abort(reason);
    await expect(acquiring).rejects.toBe(reason);
    expect(told.slice(-3)).toEqual(["aborted c", "released b", "released a"]);
    expect([entries("a"), entries("b"), entries("c")]).toEqual([0, 0, 1]);
    await holder.release();
  });

  it.each(["b", "c"])("is aborted by the signal that only the view of its part %s has", async (name) => {
    const holder = await other.mutex("d").acquire();
    const [ofB, ofC] = [new AbortController(), new AbortController()];
    const [b, c] = [locks.mutex("b", { signal: ofB.signal }), locks.mutex("c", { signal: ofC.signal })];
    const lock = multiLock([locks.mutex("a"), multiLock([b]), c, locks.mutex("d")]);
    const acquiring = lock.acquire({ order: "given" });
    await until(() => entries("d") === 2);
    (name === "b" ? ofB : ofC).abort("stopping");
    await expect(acquiring).rejects.toBe("stopping");
    await expect(lock.tryAcquire({ order: "given" })).rejects.toBe("stopping");
    expect(["a", "b", "c", "d"].map(entries)).toEqual([0, 0, 0, 1]);
    // A signal of the call takes the place of the views' signals, as with a single lock.
    await holder.release();
    const { signal } = new AbortController();
    await (await lock.acquire({ order: "given", signal })).release();
  });

  it("settles at its limit although the server of a part that it holds does not answer the release", async () => {
    let asked = 0;
    refuseReleases(["a"], () => {
      asked++;
      return new Promise(() => {});
    });
    const holder = await other.mutex("b").acquire();
    const lock = multiLock(mutexes("ab"));
    const startedMs = performance.now();
    expect(await lock.tryAcquire({ waitMs: 100 })).toBeNull();
    expect(asked).toBe(1);
    // Core waits 5 s for the answer to a release. The acquire must not wait that long.
    expect(performance.now() - startedMs).toBeLessThan(4_000);
    await holder.release();
  });

  it.each([
    ["at its limit", () => ({ waitMs: 100 })],
    ["when it is aborted", () => ({ waitMs: 60_000, signal: AbortSignal.timeout(100) })],
  ])(
    "is refused %s although the server of a part that it holds does not answer the release",
    async (_, options) => {
      refuseReleases(["a"], () => new Promise(() => {}));
      const refused = new Error("never to be had");
      const never = async (): Promise<never> => {
        throw refused;
      };
      const part = { name: "b", acquire: never, tryAcquire: never };
      const startedMs = performance.now();
      await expect(multiLock([locks.mutex("a"), part]).acquire(options())).rejects.toThrow(refused);
      // Core waits 5 s for the answer to a release. The acquire must not wait that long.
      expect(performance.now() - startedMs).toBeLessThan(4_000);
    },
  );

  it("keeps the first error when giving back fails, and gives back the rest", async () => {
    refuseReleases(["b"]);
    const holder = await other.mutex("c").acquire();
    const acquiring = multiLock(mutexes("abc")).acquire();
    await until(() => entries("c") === 2);
    expect(memoryControls(other).steal("a")).toBe(true);
    await expect(acquiring).rejects.toBeInstanceOf(EvictedError);
    expect(told.filter((each) => each.startsWith("refused"))).toEqual(["refused b"]);
    expect([entries("a"), entries("c")]).toEqual([0, 1]);
    await holder.release();
  });

  it("begins again when the session ended under what it had, within the same time", async () => {
    const elsewhere = memoryLocks();
    const holder = await elsewhere.mutex("b").acquire();
    const waiting = multiLock([locks.mutex("a"), elsewhere.mutex("b")]).acquire({ waitMs: 5_000 });
    await until(() => memoryControls(elsewhere).entries("b") === 2);
    memoryControls(locks).expire();
    memoryControls(locks).reconnect();
    await until(() => told.includes("session-expired a") && memoryControls(elsewhere).entries("b") === 2);
    await holder.release();
    const handle = await waiting;
    expect(handle.state).toBe("held");
    expect(told.filter((each) => each === "granted a")).toHaveLength(2);
    await handle.release();
  });

  it("rejects when the provider of a part is closed while it waits for a lock of another provider", async () => {
    const elsewhere = memoryLocks();
    const holder = await elsewhere.mutex("b").acquire();
    const waiting = multiLock([locks.mutex("a"), elsewhere.mutex("b")]).acquire();
    await until(() => memoryControls(elsewhere).entries("b") === 2);
    const closed = expect(waiting).rejects.toBeInstanceOf(ProviderClosedError);
    await locks.close();
    await closed;
    expect(memoryControls(elsewhere).entries("b")).toBe(1);
    await holder.release();
  });

  it("is not handed out while contact with an earlier part is in doubt", async () => {
    const elsewhere = memoryLocks();
    const holder = await elsewhere.mutex("b").acquire();
    let granted = false;
    const waiting = multiLock([locks.mutex("a"), elsewhere.mutex("b")])
      .acquire()
      .then((handle) => {
        granted = true;
        return handle;
      });
    await until(() => memoryControls(elsewhere).entries("b") === 2);
    memoryControls(locks).suspend();
    await holder.release();
    await until(() => elsewhere.holds().length === 1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(granted).toBe(false);
    memoryControls(locks).reconnect();
    expect((await waiting).state).toBe("held");
    await (await waiting).release();
  });

  it("keeps its limit while a part that is not core's does not confirm its hold, and gives all parts back", async () => {
    let released = 0;
    let asked: AbortSignal | undefined;
    const handle = {
      ...{ name: "a", state: "uncertain", lost: new AbortController().signal },
      confirm: ({ signal }: { readonly signal: AbortSignal }) => {
        asked = signal;
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        });
      },
      release: async () => {
        released++;
      },
    };
    const part = { name: "a", acquire: async () => handle, tryAcquire: async () => handle };
    const acquired = multiLock([part as unknown as MultiLockPart, locks.mutex("b")]).acquire({ waitMs: 100 });
    await expect(acquired).rejects.toBeInstanceOf(AcquireTimeoutError);
    expect([released, entries("b"), asked?.aborted]).toEqual([1, 0, true]);
  });

  it("passes on what is asked of each part", async () => {
    const handle = await multiLock(mutexes("ab")).acquire({ label: "report", revocable: true });
    expect(handle.parts.map(({ owner }) => owner.label)).toEqual(["report", "report"]);
    expect(handle.revokeRequested.aborted).toBe(false);
    expect(await other.mutex("b").requestRevoke()).toBe(true);
    expect(handle.revokeRequested.aborted).toBe(true);
    await handle.release();
  });

  it("asks neighbours of one backend for all of them in one step, and goes on one by one when that is refused", async () => {
    const together = worldProvider({ together: "all at once", space });
    const rival = await other.mutex("b").acquire();
    const asked = jointly.asked;
    const waiting = multiLock(mutexes("abc", together)).acquire();
    await until(() => entries("b") === 2);
    expect([entries("a"), entries("c")]).toEqual([1, 0]);
    await rival.release();
    await (await waiting).release();
    // First a, b and c are asked for together, then b and c after a; then no two locks are left.
    expect(jointly.asked - asked).toBe(2);
    await (await multiLock(mutexes("abc", together)).acquire()).release();
    expect(jointly.asked - asked).toBe(3);
  });

  it("runs a body without options, and tries to: null where a part is taken, with the body not run", async () => {
    const lock = multiLock(mutexes("abc"));
    const names = await lock.withLock(({ parts }) => parts.map(({ name }) => name));
    expect(names).toEqual(["a", "b", "c"]);
    const holder = await other.mutex("b").acquire();
    let ran = false;
    const body = () => {
      ran = true;
    };
    expect(await lock.tryWithLock(body)).toBeNull();
    expect(await lock.tryWithLock({ waitMs: 20 }, body)).toBeNull();
    expect([ran, entries("a"), entries("b"), entries("c")]).toEqual([false, 0, 1, 0]);
    await holder.release();
    expect(await lock.tryWithLock(({ parts }) => parts.length)).toBe(3);
    expect(["a", "b", "c"].map(entries)).toEqual([0, 0, 0]);
    await expect(lock.withLock({} as never)).rejects.toThrow("withLock: the body must be a function");
    await expect(lock.withLock(body as never, {} as never)).rejects.toThrow("options come before the body");
  });

  it("takes re-entrant parts one by one, and a part of it can be entered inside its scope", async () => {
    const together = worldProvider({ together: "all at once", space, detectDeadlocks: true });
    const [a, b] = [together.reentrantMutex("a"), together.mutex("b")];
    const value = await multiLock([a, b]).withLock({}, async () => {
      await expect(b.acquire()).rejects.toThrow(DeadlockError);
      await expect(multiLock([b, together.mutex("c")]).acquire()).rejects.toThrow(DeadlockError);
      return await a.withLock(() => a.holdCount());
    });
    expect(value).toBe(2);
    expect(["a", "b", "c"].map(entries)).toEqual([0, 0, 0]);
  });
});

describe("a multi-lock that is a part of another one", () => {
  it("lets its own parts be entered inside the scope of the whole", async () => {
    const finding = worldProvider({ space, detectDeadlocks: true });
    const [m, n, k] = [finding.reentrantMutex("m"), finding.mutex("n"), finding.mutex("k")];
    const whole = multiLock([multiLock([m, n]), k]);
    const depth = await whole.withLock({ order: "given" }, async () => {
      await expect(n.acquire({ waitMs: 10_000 })).rejects.toThrow(DeadlockError);
      return await m.withLock({ waitMs: 10_000 }, () => m.holdCount());
    });
    expect(depth).toBe(2);
  });

  it("waits no longer than one of its own parts would by itself, when the call says nothing", async () => {
    const holder = await other.mutex("b").acquire();
    const lock = multiLock([locks.mutex("a"), multiLock([locks.mutex("b", { waitMs: 30 })])]);
    await expect(lock.acquire({ order: "given" })).rejects.toThrow(AcquireTimeoutError);
    await holder.release();
  });

  it("is asked without leaseMs where none of its own parts has a lease, and with it where one has", async () => {
    const asked: unknown[] = [];
    const take = async ({ leaseMs, renew: _, ...options }: AcquireOptions = {}) => {
      asked.push(leaseMs);
      return await locks.mutex("leased").acquire(options);
    };
    const leased = { name: "leased", acquire: take, tryAcquire: take };
    const inner = multiLock([locks.mutex("a")]);
    const options = { order: "given", leaseMs: 1_000, renew: false } as const;
    await expect(multiLock([inner]).acquire(options)).rejects.toThrow(UnsupportedError);
    await (await multiLock([inner, leased]).acquire(options)).release();
    await (await multiLock([inner, multiLock([locks.mutex("b"), leased])]).acquire(options)).release();
    expect(asked).toEqual([1_000, 1_000]);
  });
});

describe("the handle of several locks", () => {
  it("is lost with its first part, says which, and gives the others back", async () => {
    const elsewhere = memoryLocks();
    const handle = await multiLock([...mutexes("ac"), elsewhere.mutex("b")]).acquire();
    const token = handle.parts[2]?.token;
    const { lost } = handle;
    memoryControls(locks).steal("c");
    expect(lost.aborted).toBe(true);
    expect(lost.reason).toBeInstanceOf(LockLostError);
    expect(lost.reason).toMatchObject({ lockName: "c", reason: "stolen", token });
    expect(lost.reason.message).toMatch(/"c" was lost, and with it all 3/);
    expect(handle.state).toBe("lost");
    expect(handle.remainingMs()).toBe(0);
    expect(() => handle.assertHeld()).toThrow(LockLostError);
    await expect(handle.confirm()).rejects.toBe(lost.reason);
    await until(() => entries("a") === 0 && memoryControls(elsewhere).entries("b") === 0);
    expect(await handle.release()).toBe("lost");
    expect(told.slice(-2)).toEqual(["stolen c", "released a"]);
  });

  it("answers a release that a listener of its loss calls once the other parts are given back", async () => {
    let answer = (_released: boolean): void => {};
    refuseReleases(["b"], () => new Promise((resolve) => (answer = resolve)));
    const handle = await multiLock(mutexes("ab")).acquire();
    const answers: string[] = [];
    handle.lost.addEventListener("abort", () => {
      void handle.release().then((outcome) => answers.push(outcome));
    });
    memoryControls(locks).steal("a");
    await new Promise((resolve) => setImmediate(resolve));
    expect(answers).toEqual([]);
    answer(true);
    await until(() => answers.length > 0);
    expect(answers).toEqual(["lost"]);
    expect(told.slice(-2)).toEqual(["stolen a", "released b"]);
  });

  it("gives the other parts back after a loss of one, although the caller never looks at the handle", async () => {
    await multiLock(mutexes("abc")).acquire();
    memoryControls(locks).steal("b");
    await until(() => ["a", "b", "c"].every((name) => entries(name) === 0));
    expect(told.slice(-3)).toEqual(["stolen b", "released c", "released a"]);
  });

  it("is uncertain as long as one part is, and good for the shortest of their times", async () => {
    const elsewhere = memoryLocks();
    const handle = await multiLock([locks.mutex("a"), elsewhere.mutex("b")]).acquire();
    memoryControls(elsewhere).suspend();
    expect(handle.state).toBe("uncertain");
    handle.assertHeld();
    memoryControls(elsewhere).reconnect();
    expect(handle.state).toBe("held");
    const [, part] = handle.parts;
    if (part === undefined) throw new Error("no second part");
    vi.spyOn(part, "remainingMs").mockReturnValue(40);
    expect(handle.remainingMs()).toBe(40);
    await handle.release();
  });

  it("is not held any more once a part was released by hand", async () => {
    const handle = await multiLock(mutexes("ab")).acquire();
    await handle.parts[0]?.release();
    expect(handle.state).toBe("released");
    expect(() => handle.assertHeld()).toThrow(NotHeldError);
    expect(handle.lost.aborted).toBe(false);
    expect(await handle.release()).toBe("released");
    expect(entries("b")).toBe(0);
  });

  it("releases the others when one release is refused, and rejects with that error", async () => {
    refuseReleases(["b"]);
    const handle = await multiLock(mutexes("abc")).acquire();
    await expect(handle.release()).rejects.toThrow("NoAuth for b");
    await expect(handle.release()).rejects.toThrow("NoAuth for b");
    expect(told.slice(3).sort()).toEqual(["refused b", "released a", "released c", "unconfirmed b"]);
    expect([entries("a"), entries("c")]).toEqual([0, 0]);
  });

  it("releases the others when the release of a part that is not core's throws, and rejects with that error", async () => {
    const handle = {
      ...{ name: "b", state: "held", lost: new AbortController().signal },
      release: () => {
        throw new Error("no such lock");
      },
    };
    const part = { name: "b", acquire: async () => handle, tryAcquire: async () => handle };
    const both = await multiLock([locks.mutex("a"), part as unknown as MultiLockPart]).acquire();
    await expect(both.release()).rejects.toThrow("no such lock");
    expect(entries("a")).toBe(0);
  });

  it("collects the errors of several releases that were refused", async () => {
    refuseReleases(["a", "c"]);
    const handle = await multiLock(mutexes("abc")).acquire();
    const error = await handle.release().catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(BackendError);
    expect(error).toMatchObject({ retryable: false, lockName: "a, b, c" });
    const { cause } = error as { cause: AggregateError };
    expect(cause.errors.map(({ lockName }) => lockName)).toEqual(["c", "a"]);
    await handle[Symbol.asyncDispose]();
    expect(entries("b")).toBe(0);
  });

  it("fulfils a scope of which a part ends with its session after the body, before its release is answered", async () => {
    refuseReleases(["a"], () => {
      setImmediate(() => memoryControls(locks).expire());
      return new Promise(() => {});
    });
    const outcomes: unknown[] = [];
    locks.events.on("released", ({ name, outcome }) => outcomes.push([name, outcome]));
    expect(await multiLock(mutexes("ab")).withLock({}, () => "done")).toBe("done");
    expect(outcomes).toEqual([
      ["b", "released"],
      ["a", "lost"],
    ]);
  });

  it("shows a scope that a part had gone when only its release finds that out", async () => {
    const driver = viewPartsOf(locks.mutex("any"))?.engine.driver;
    if (driver === undefined) throw new Error("not a view of core's");
    const error = await multiLock(mutexes("ab"))
      .withLock({}, async (handle) => {
        const hold = viewPartsOf(locks.mutex("any"))?.engine.holds ?? new Set();
        for (const { name, grant } of hold) if (name === "b") grant.release = async () => false;
        expect(handle.state).toBe("held");
        return "done";
      })
      .catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ value: "done", lockName: "b", reason: "stolen" });
  });
});
