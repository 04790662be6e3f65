import { setTimeout as pass } from "node:timers/promises";
import { EvictedError, type LockHandle, LockLostError, tokenGate } from "@holdfast/core";
import { eventually } from "@holdfast/test-servers";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { share } from "../../support/share.js";
import { spread } from "./figures.js";
import { type Actor, attended, expectNoHolds, lastBelieved, Stage } from "./stage.js";
import { testLimitMs } from "./test-limit.js";

vi.setConfig({ testTimeout: testLimitMs });

let stage: Stage;
let holder: Actor;
let waiter: Actor;
let third: Actor;
let path: string;

beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(async () => {
  await stage.close();
});
// Each test gets new ones, so that what a failed test leaves behind does not make other tests fail.
beforeEach(async () => {
  path = await stage.path();
  [holder, waiter, third] = [await stage.actor(), await stage.actor(), await stage.actor()];
});
afterEach(async () => {
  await stage.empty(path);
  expectNoHolds(holder, waiter, third);
});

/** Makes a holder whose own node is watched, and a waiter right behind it. */
async function heldAndAwaited(): Promise<{ handle: LockHandle; next: Promise<LockHandle>; nodes: string[] }> {
  holder.proxy.reset();
  const handle = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
  await attended(holder, handle);
  waiter.proxy.reset();
  const next = waiter.locks.mutex(path).acquire({ waitMs: 10_000 });
  await stage.queued(waiter, path);
  const nodes = (await stage.operator.queue(path)).map((node) => node.path);
  expect(nodes).toHaveLength(2);
  return { handle, next, nodes };
}

describe("an operator who deletes", () => {
  it("the holder's node takes the lock away: lost as stolen at once, the old fenced write is refused", async () => {
    const lostAfterMs: number[] = [];
    const overlapMs: number[] = [];
    const newsMs: number[] = [];
    const gate = tokenGate();
    const count = share("nodes of a holder deleted by an operator", 10, 100);
    for (let i = 0; i < count; i++) {
      const { handle, next, nodes } = await heldAndAwaited();
      gate.admit("stock", handle.token as bigint);
      let lostAtMs = Number.NaN;
      handle.lost.addEventListener("abort", () => {
        lostAtMs = performance.now();
      });
      let grantedAtMs = Number.NaN;
      const granted = next.then((got) => {
        grantedAtMs = performance.now();
        return got;
      });
      const believed = lastBelieved(handle);
      const before = performance.now();
      await stage.operator.delete(nodes[0] as string);
      const successor = await granted;
      await eventually(() => handle.lost.aborted, {
        what: "the loss to be told",
        withinMs: 10_000,
        everyMs: 1,
      });
      expect((handle.lost.reason as LockLostError).reason).toBe("stolen");
      expect(() => handle.assertHeld()).toThrow(LockLostError);
      expect(gate.admit("stock", successor.token as bigint)).toBe(true);
      expect(gate.admit("stock", handle.token as bigint)).toBe(false);
      expect(await handle.release()).toBe("lost");
      expect(successor.state).toBe("held");
      expect(await successor.release()).toBe("released");
      lostAfterMs.push(lostAtMs - before);
      overlapMs.push(lostAtMs - grantedAtMs);
      const news = holder.proxy.trace.find(({ event, path: of }) => event === "deleted" && of === nodes[0]);
      newsMs.push((await believed) - (news?.at ?? Number.NaN));
    }
    console.log(`holder's node deleted by an operator: lost after ${spread(lostAfterMs)}`);
    console.log(`  holder still believed when the next was granted: ${spread(overlapMs)}`);
    console.log(`  last not lost after the news was sent to it: ${spread(newsMs)}`);
    expect(Math.max(...newsMs)).toBeLessThan(2_000);
    expect(Math.max(...lostAfterMs)).toBeLessThan(10_000);
  });

  it("the node of a holder whose `lost` was never read takes effect within a quarter of a second", async () => {
    const handle = await holder.locks.mutex(path).acquire();
    const lost = new Promise<string>((resolve) => {
      holder.locks.events.on("lost", ({ reason }) => resolve(reason));
    });
    const before = performance.now();
    await stage.operator.delete((await stage.operator.queue(path))[0]?.path as string);
    expect(await lost).toBe("stolen");
    expect(performance.now() - before).toBeLessThan(5_000);
    expect(handle.state).toBe("lost");
  });

  it("a node that its holder releases at the same time does not make the release fail", async () => {
    const outcomes = new Map<string, number>();
    const count = share("nodes deleted by an operator and their holder at once", 5, 100);
    for (let i = 0; i < count; i++) {
      const handle = await holder.locks.mutex(path).acquire({ waitMs: 10_000 });
      const node = (await stage.operator.queue(path))[0]?.path as string;
      const [, outcome] = await Promise.all([
        stage.operator.send("delete", { path: node, version: -1 }),
        handle.release(),
      ]);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      expect(["released", "lost"]).toContain(outcome);
      expect(await stage.operator.children(path)).toEqual([]);
    }
    console.log(`deleted by operator and holder at once: ${JSON.stringify([...outcomes])}`);
  });

  it("a waiter's node ends its wait with EvictedError, and the holder and others stay where they are", async () => {
    const count = share("nodes of a waiter deleted by an operator", 5, 100);
    for (let i = 0; i < count; i++) {
      const { handle, next, nodes } = await heldAndAwaited();
      third.proxy.reset();
      const last = third.locks.mutex(path).acquire({ waitMs: 10_000 });
      await stage.queued(third, path);
      const evicted = expect(next).rejects.toThrow(EvictedError);
      await stage.operator.delete(nodes[1] as string);
      await evicted;
      expect(handle.state).toBe("held");
      expect(await stage.operator.children(path)).toHaveLength(2);
      expect(await handle.release()).toBe("released");
      expect(await (await last).release()).toBe("released");
      expect(await stage.operator.children(path)).toEqual([]);
    }
  });

  it("the nodes of holder and waiter in one transaction leaves the lock to the third alone", async () => {
    const ends = new Map<string, number>();
    const lostAfterMs: number[] = [];
    const count = share("nodes of holder and waiter deleted in one transaction", 5, 100);
    for (let i = 0; i < count; i++) {
      const { handle, next, nodes } = await heldAndAwaited();
      third.proxy.reset();
      const last = third.locks.mutex(path).acquire({ waitMs: 10_000 });
      await stage.queued(third, path);
      const order = i % 2 === 0 ? nodes : [...nodes].reverse();
      const before = performance.now();
      // In half of the rounds the waiter gets the events of both nodes in one piece.
      if (i % 4 >= 2) await waiter.proxy.setMode("stall-down");
      await stage.operator.deleteTogether(order);
      await waiter.proxy.setMode("ok");
      const end = next.then(
        // The event of the holder's node came first. The waiter was granted the lock and lost it by the next event of the stream.
        async (granted) => {
          await eventually(() => granted.state === "lost", {
            what: "the loss to be told",
            withinMs: 10_000,
            everyMs: 1,
          });
          lostAfterMs.push(performance.now() - before);
          return "granted and lost";
        },
        (error) => {
          expect(error).toBeInstanceOf(EvictedError);
          return "evicted";
        },
      );
      const successor = await last;
      await eventually(() => handle.state === "lost", { what: "the loss to be told", withinMs: 10_000 });
      const how = await Promise.race([end, pass(5_000, "waits again, against the operator", { ref: false })]);
      ends.set(how, (ends.get(how) ?? 0) + 1);
      expect(["evicted", "granted and lost"]).toContain(how);
      expect(successor.state).toBe("held");
      expect(await stage.operator.children(path)).toHaveLength(1);
      expect(await successor.release()).toBe("released");
    }
    console.log(`holder and waiter deleted in one transaction: ${JSON.stringify([...ends])}`);
    if (lostAfterMs.length > 0) console.log(`  granted in it and lost after ${spread(lostAfterMs)}`);
  });
});
