import { AcquireTimeoutError, type LockProvider, memoryLocks } from "@holdfast/core";
import { memoryControls } from "@holdfast/core/testing";
import { describe, expect, it } from "vitest";

async function rejectionOf(call: () => Promise<unknown>): Promise<Error> {
  try {
    await call();
  } catch (error) {
    return error as Error;
  }
  throw new Error("it did not reject");
}

/** Stands for a function of the user. The stack of the error must name it. */
async function sellBook(call: () => Promise<unknown>): Promise<void> {
  await call();
}

/**
 * Whether the stack names the caller, also where the event loop has two frames of the ten: when several timers are due in one turn.
 * The test runner may compile `async` away, so that a frame is printed without it.
 */
function expectCaller({ stack = "" }: Error): void {
  const frames = stack.split("\n    at ").filter((frame) => !frame.includes("(node:internal/"));
  const [, ...ours] = frames;
  expect(ours.slice(0, 8).map((frame) => frame.replace(/^async /, "").split(" ")[0])).toContain("sellBook");
}
/** The memory must answer within it, also where this process stands still for a moment. */
const waitMs = 300;
const body = (): void => {};

type Call = (locks: LockProvider) => Promise<unknown>;

/** For each primitive: the first call takes it, so that every later call runs into its time limit. */
const waits: readonly [string, Call, ...Call[]][] = [
  [
    "a mutex",
    (locks) => locks.mutex("orders/42").acquire(),
    (locks) => locks.mutex("orders/42").acquire({ waitMs }),
    (locks) => locks.mutex("orders/42").acquire({ waitMs: 0 }),
    (locks) => locks.mutex("orders/42").withLock({ waitMs }, body),
  ],
  [
    "a re-entrant mutex",
    (locks) => locks.reentrantMutex("orders/42").acquire(),
    (locks) => locks.reentrantMutex("orders/42").acquire({ waitMs }),
    (locks) => locks.reentrantMutex("orders/42").withLock({ waitMs }, body),
  ],
  [
    "a read-write lock",
    (locks) => locks.readWriteLock("prices").write.acquire(),
    (locks) => locks.readWriteLock("prices").read.acquire({ waitMs }),
    (locks) => locks.reentrantReadWriteLock("prices").write.withLock({ waitMs }, body),
  ],
  [
    "a semaphore",
    (locks) => locks.semaphore("printers", 1).acquire(),
    (locks) => locks.semaphore("printers", 1).acquire({ waitMs }),
    (locks) => locks.semaphore("printers", 1).withPermit({ waitMs }, body),
  ],
  [
    "an election",
    (locks) => locks.leaderElection("scheduler").campaign(),
    (locks) => locks.leaderElection("scheduler").campaign({ waitMs }),
  ],
  [
    "a latch",
    (locks) => locks.countDownLatch("parts").trySetCount(1),
    (locks) => locks.countDownLatch("parts").wait({ waitMs }),
  ],
  ["a barrier", (locks) => locks.barrier("gate").shut(), (locks) => locks.barrier("gate").wait({ waitMs })],
  ["a double barrier", async () => {}, (locks) => locks.doubleBarrier("start", 2).enter({ waitMs })],
];

describe("the stack of a wait that ran out names the function that called", () => {
  it.each(waits)("for %s", async (_what, take, ...calls) => {
    await using locks = memoryLocks();
    await take(locks);
    const errors = await Promise.all(calls.map((call) => rejectionOf(() => sellBook(() => call(locks)))));
    for (const error of errors) {
      expect(error).toBeInstanceOf(AcquireTimeoutError);
      expectCaller(error);
      // The stack still begins with the error's own text.
      expect(error.stack?.startsWith(`AcquireTimeoutError: ${error.message}\n`)).toBe(true);
    }
  });

  it("for a connection", async () => {
    await using locks = memoryLocks({ connectTimeoutMs: waitMs });
    memoryControls(locks).suspend();
    for (const call of [() => locks.mutex("orders/42").acquire(), () => locks.ready()]) {
      const error = await rejectionOf(() => sellBook(call));
      expect(error).toMatchObject({ code: "HF_BACKEND" });
      expectCaller(error);
    }
  });
});
