import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { AcquireTimeoutError, memoryLocks, systemRuntime, tokenGate } from "@holdfast/core";
import { beforeEach, describe, expect, it } from "vitest";
import { currentFrame } from "../src/scopes/frames.js";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

it("all children that wait for their turn go on when the body gives its hold back itself", async () => {
  const locks = memoryLocks();
  const lock = locks.reentrantMutex("a");
  const ran: number[] = [];
  await lock.withLock(async (handle) => {
    const children = [1, 2, 3].map((child) => lock.withLock({ waitMs: 10_000 }, () => ran.push(child)));
    await handle.release();
    await Promise.all(children);
  });
  expect(ran).toEqual([1, 2, 3]);
  await locks.close();
});

it("all children that wait go on when the body gives its hold back as one of them hands its place to the next", async () => {
  // The body waits this many microtasks after the end of the first child. One of these moments
  // lies between two steps of the second child.
  for (let steps = 0; steps < 50; steps++) {
    const locks = memoryLocks();
    const lock = locks.reentrantMutex("a");
    const ran: number[] = [];
    await lock.withLock(async (handle) => {
      let finish = (): void => {};
      const first = lock.withLock(
        () =>
          new Promise<void>((resolve) => {
            finish = resolve;
          }),
      );
      const others = [2, 3].map((child) => lock.withLock({ waitMs: 10_000 }, () => ran.push(child)));
      await new Promise((resolve) => setImmediate(resolve));
      finish();
      for (let step = 0; step < steps; step++) await Promise.resolve();
      await handle.release();
      await Promise.all([first, ...others]);
    });
    expect(ran).toEqual([2, 3]);
    await locks.close();
  }
});

it("a child that a body leaves running keeps its siblings out of the scope around, whose body goes on", async () => {
  const locks = memoryLocks();
  const lock = locks.reentrantMutex("a");
  let inside = 0;
  let most = 0;
  const body = async (): Promise<void> => {
    most = Math.max(most, ++inside);
    // A sibling that is not kept out enters in the microtasks of this turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    inside--;
  };
  let child: Promise<void> | undefined;
  await lock.withLock(async () => {
    await lock.withLock(() => {
      child = lock.withLock(body);
    });
    await lock.withLock(body);
  });
  await child;
  expect(most).toBe(1);
  await locks.close();
});

describe("a child that waits for its place in a scope which ends first enters the scope around it", () => {
  const locks = memoryLocks();
  let finish: () => void;
  /** Lasts until `finish()`, which is called once the scope has ended. */
  const lasting = (): Promise<void> => new Promise((resolve) => (finish = resolve));

  it("when the body of the scope has ended", async () => {
    const lock = locks.reentrantMutex("a");
    const entered = await lock.withLock(async () => {
      let children: Promise<unknown>[] = [];
      await lock.withLock(() => {
        children = [lock.withLock(lasting), lock.withLock(() => "entered")];
      });
      finish();
      return await Promise.all(children);
    });
    expect(entered[1]).toBe("entered");
  });

  it("when the body of the scope has released its own read in the scope of a write", async () => {
    const { read, write } = locks.reentrantReadWriteLock("b");
    const entered = await write.withLock(() =>
      read.withLock(async (handle) => {
        const children = [read.withLock(lasting), read.withLock(() => "read"), write.withLock(() => "write")];
        await new Promise((resolve) => setImmediate(resolve));
        await handle.release();
        finish();
        return await Promise.all(children);
      }),
    );
    expect(entered.slice(1)).toEqual(["read", "write"]);
  });

  it("when the body of the scope ends as one child hands its place to the next", async () => {
    const lock = locks.reentrantMutex("c");
    // The body waits this many microtasks after the end of the first child.
    for (let steps = 0; steps < 50; steps++) {
      const entered = await lock.withLock(async () => {
        let children: Promise<unknown>[] = [];
        await lock.withLock(async () => {
          let finish = (): void => {};
          const first = new Promise<void>((resolve) => {
            finish = resolve;
          });
          children = [lock.withLock(() => first), lock.withLock(() => 2), lock.withLock(() => 3)];
          await new Promise((resolve) => setImmediate(resolve));
          finish();
          for (let step = 0; step < steps; step++) await Promise.resolve();
        });
        return await Promise.all(children);
      });
      expect(entered, `${steps} steps`).toEqual([undefined, 2, 3]);
    }
  });
});

it("a child that waits in vain for a sibling says how long it has waited, which may be more than waitMs", async () => {
  const locks = memoryLocks();
  const lock = locks.reentrantMutex("a");
  await lock.withLock(async () => {
    let finish = (): void => {};
    const sibling = lock.withLock(() => new Promise<void>((resolve) => (finish = resolve)));
    const waiting = lock.withLock({ waitMs: 5 }, () => null).catch((error: unknown) => error);
    // The microtasks of both calls run, and no timer does: that of the wait would end it before the event loop is blocked.
    await new Promise((resolve) => process.nextTick(resolve));
    const blockedUntilMs = performance.now() + 40;
    while (performance.now() < blockedUntilMs);
    const error = (await waiting) as AcquireTimeoutError;
    expect(error).toBeInstanceOf(AcquireTimeoutError);
    expect(error.waitedMs).toBeGreaterThanOrEqual(40);
    finish();
    await sibling;
  });
  await locks.close();
});

describe("a body in the scope of a write that gives back its own read beside it", () => {
  const locks = memoryLocks();
  const lock = locks.reentrantReadWriteLock("a");
  let order: string[];
  const inside = (what: string) => async () => {
    order.push(`${what} in`);
    await new Promise((resolve) => setImmediate(resolve));
    order.push(`${what} out`);
  };
  const waitMs = 10_000;

  beforeEach(() => {
    order = [];
  });

  it("enters the lock again, behind a sibling that waited for its end", async () => {
    await lock.write.withLock(async () => {
      const first = lock.read.withLock(async (read) => {
        await read.release();
        await lock.read.withLock({ waitMs }, inside("read"));
        await lock.write.withLock({ waitMs }, inside("write"));
      });
      await Promise.all([first, lock.write.withLock(inside("sibling"))]);
    });
    expect(order).toEqual(["sibling in", "sibling out", "read in", "read out", "write in", "write out"]);
  });

  it("keeps its siblings out for as long as a child of its own is in", async () => {
    await lock.write.withLock(async () => {
      const first = lock.read.withLock(async (read) => {
        const child = lock.write.withLock(inside("child"));
        await read.release();
        await child;
      });
      await Promise.all([first, lock.write.withLock({ waitMs }, inside("sibling"))]);
    });
    expect(order).toEqual(["child in", "child out", "sibling in", "sibling out"]);
  });
});

it.each(["withLock", "tryWithLock"] as const)(
  "a relay of bodies that each start the next with %s keeps no scopes that have ended",
  async (method) => {
    const locks = memoryLocks({ detectDeadlocks: true });
    const frames: WeakRef<object>[] = [];
    let kept = 0;
    await new Promise<void>((done) => {
      const step = (i: number, held: () => void): void => {
        const last = i === 200;
        const body = async (): Promise<void> => {
          held();
          frames.push(new WeakRef(currentFrame() as object));
          // `deref()` of a weak reference keeps its object alive until the end of the turn.
          await new Promise((resolve) => setImmediate(resolve));
          if (!last) return await new Promise<void>((resolve) => step(i + 1, resolve));
          collectGarbage();
          kept = frames.filter((frame) => frame.deref() !== undefined).length;
        };
        const lock = locks.mutex(`${i % 3}`);
        const ended = method === "withLock" ? lock.withLock(body) : lock.tryWithLock(body);
        if (last) void ended.then(() => done());
      };
      step(0, () => {});
    });
    expect(frames).toHaveLength(201);
    expect(kept).toBeLessThan(10);
    await locks.close();
  },
);

it("a re-entrant lock of another kind on the name of the scope is a conflict, and is not entered by the hold of that scope", async () => {
  const locks = memoryLocks();
  const mutex = locks.reentrantMutex("a");
  const { read, write } = locks.reentrantReadWriteLock("a");
  const conflict = { code: "HF_LAYOUT_CONFLICT", lockName: "a" };
  await mutex.withLock(async () => {
    await expect(write.withLock(() => "entered")).rejects.toMatchObject(conflict);
    await expect(read.withLock(() => "entered")).rejects.toMatchObject(conflict);
    await expect(write.acquire()).rejects.toMatchObject(conflict);
    expect(await mutex.withLock(() => mutex.holdCount())).toBe(2);
  });
  for (const side of [write, read]) {
    await side.withLock(async () => {
      await expect(mutex.withLock(() => "entered")).rejects.toMatchObject(conflict);
    });
  }
  await locks.close();
});

describe("no scope of a withLock contains", () => {
  it("a listener of a request to let go that its body makes", async () => {
    const locks = memoryLocks();
    const lock = locks.reentrantMutex("a");
    const wanted = await locks.mutex("b").acquire({ revocable: true });
    const depths: number[] = [];
    wanted.revokeRequested.addEventListener("abort", () => depths.push(lock.holdCount()));
    await lock.withLock(() => locks.mutex("b").requestRevoke());
    expect(depths).toEqual([0]);
    await locks.close();
  });

  it("a listener of a signal that its body aborts", async () => {
    const locks = memoryLocks();
    const lock = locks.reentrantMutex("a");
    const depths: number[] = [];
    const stop = new AbortController();
    await locks.mutex("b").withLock({ signal: stop.signal }, async (_, { signal }) => {
      signal.addEventListener("abort", () => depths.push(lock.holdCount()));
      await lock.withLock(() => stop.abort());
    });
    expect(depths).toEqual([0]);
    await locks.close();
  });

  it("a subscriber of the diagnostics channels that hears of its body's calls", async () => {
    const locks = memoryLocks();
    const lock = locks.reentrantMutex("a");
    const heard = new Map<string, number>();
    const channels = ["start", "end", "asyncStart", "asyncEnd"].map(
      (part) => `tracing:holdfast:acquire:${part}`,
    );
    const hear = (message: unknown, channel: string | symbol): void => {
      if ((message as { name: string }).name === "b") heard.set(String(channel), lock.holdCount());
    };
    for (const channel of [...channels, "holdfast:lock:released"]) subscribe(channel, hear);
    try {
      await lock.withLock(async () => (await locks.mutex("b").acquire()).release());
    } finally {
      for (const channel of [...channels, "holdfast:lock:released"]) unsubscribe(channel, hear);
    }
    expect([...heard]).toEqual([...channels, "holdfast:lock:released"].map((channel) => [channel, 0]));
    await locks.close();
  });

  it("a subscriber of the diagnostics channels that hears what a token gate refuses in its body", async () => {
    const locks = memoryLocks();
    const lock = locks.reentrantMutex("a");
    const gate = tokenGate();
    const depths: number[] = [];
    const hear = (): void => void depths.push(lock.holdCount());
    subscribe("holdfast:fencing:rejected", hear);
    try {
      await lock.withLock(() => [gate.admit("account", 2n), gate.admit("account", 1n)]);
    } finally {
      unsubscribe("holdfast:fencing:rejected", hear);
    }
    expect(depths).toEqual([0]);
    await locks.close();
  });

  it("a timer of the system's runtime that its body sets", async () => {
    const locks = memoryLocks();
    const lock = locks.reentrantMutex("a");
    const depth = await lock.withLock(
      () =>
        new Promise<number>((resolve) => {
          systemRuntime.setTimer(0, () => resolve(lock.holdCount()), { ref: true });
        }),
    );
    expect(depth).toBe(0);
    await locks.close();
  });
});
