import { type LockHandle, MemorySpace, memoryLocks, type Runtime, systemRuntime } from "@holdfast/core";
import { ConnectionWaiters } from "@holdfast/core/internal";
import { memoryControls } from "@holdfast/core/testing";
import { beforeEach, describe, expect, it } from "vitest";

/** More items than one turn of the event loop handles. */
const many = 100;

let runtime: Runtime;
let space: MemorySpace;

beforeEach(() => {
  // Each reading of the clock adds 1 ms, as if many items had been handled meanwhile.
  let nowMs = 0;
  runtime = Object.create(systemRuntime, { nowMs: { value: () => ++nowMs } });
  space = new MemorySpace();
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function allTurns(): Promise<void> {
  for (let i = 0; i < 2 * many; i++) await turn();
}

const names = Array.from({ length: many }, (_, i) => `lock-${i}`);
const last = names.at(-1) as string;

describe("very many locks of one provider", () => {
  it("are lost with the session at once for a caller that asks, also before their holders were notified", async () => {
    const locks = memoryLocks({ space, runtime });
    const held = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
    let told = 0;
    locks.events.on("lost", () => told++);
    memoryControls(locks).expire();
    expect(told).toBeLessThan(many);
    const handle = held.at(-1) as LockHandle;
    const before = told;
    expect(handle.remainingMs()).toBe(0);
    expect([handle.state, told]).toEqual(["lost", before + 1]);
    await allTurns();
    expect(told).toBe(many);
    await locks.close();
  });

  it("are not delivered to a wait whose session has ended, also before the wait was notified of that", async () => {
    const options = { space, runtime };
    const [locks, ended, next] = [memoryLocks(options), memoryLocks(options), memoryLocks(options)];
    const held = await locks.mutex(last).acquire();
    await Promise.all(names.slice(0, -1).map((name) => ended.mutex(name).acquire()));
    const moved = ended.mutex(last).acquire();
    const behind = next.mutex(last).acquire();
    await turn();
    memoryControls(ended).expire();
    memoryControls(ended).reconnect();
    await held.release();
    const handle = await Promise.race([moved, behind]);
    expect(handle.owner.id).toBe((await behind).owner.id);
    await handle.release();
    expect((await moved).state).toBe("held");
    await Promise.all([locks, ended, next].map((each) => each.close()));
  });

  it("are not granted to a call that the end of its provider has not reached yet", async () => {
    const [locks, closing] = [memoryLocks({ space, runtime }), memoryLocks({ space, runtime })];
    const held = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
    let settled = 0;
    const calls = names.map((name) =>
      closing
        .mutex(name)
        .acquire()
        .finally(() => settled++),
    );
    const ends = Promise.allSettled(calls);
    await turn();
    const closed = closing.close();
    await turn();
    expect(settled).toBeLessThan(many);
    await (held.at(-1) as LockHandle).release();
    expect((await ends).map(({ status }) => status)).toEqual(names.map(() => "rejected"));
    await closed;
    expect(await locks.mutex(last).tryAcquire({ waitMs: 0 })).not.toBeNull();
    await locks.close();
  });
});

describe("very many waits for contact", () => {
  it("go on in turns, and wait on where contact breaks again before theirs", async () => {
    const attempts = { servers: ["127.0.0.1:1"], lastCause: undefined, refused: false };
    const waiters = new ConnectionWaiters(runtime, attempts, () => {
      throw new Error("nobody waits in vain");
    });
    let connected = 0;
    for (let i = 0; i < many; i++) void waiters.wait(60_000, undefined).then(() => connected++);
    waiters.connected();
    waiters.attemptFailed();
    await allTurns();
    expect(connected).toBeGreaterThan(0);
    expect(connected + waiters.size).toBe(many);
    expect(waiters.size).toBeGreaterThan(0);
    waiters.connected();
    await allTurns();
    expect([connected, waiters.size]).toEqual([many, 0]);
  });
});
