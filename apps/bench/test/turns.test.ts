import { memoryLocks } from "@holdfast/core";
import { describe, expect, it } from "vitest";
import { clientOf } from "../src/peers/node/of-provider.js";
import { crowdOf } from "../src/peers/statistics.js";
import { Turns } from "../src/peers/turns.js";

async function turnsOf(clients: number): Promise<Turns> {
  const locks = Array.from({ length: clients }, () => memoryLocks());
  return new Turns(await Promise.all(locks.map(clientOf)));
}

describe("the turns of owners", () => {
  it("that loop on a lock each are pairs, which all have a time", async () => {
    const turns = await turnsOf(1);
    const { operations, latenciesUs, grants } = await turns.loop({
      ...{ do: "loop", name: "pairs", owners: 3, locks: 3, forMs: 20 },
    });
    await turns.close();
    expect(operations).toBeGreaterThanOrEqual(3);
    expect(latenciesUs).toHaveLength(operations);
    expect(grants).toEqual([]);
  });

  it("that loop on one lock are grants with their owner, each after the release before it", async () => {
    const turns = await turnsOf(1);
    const { operations, grants } = await turns.loop({
      ...{ do: "loop", name: "crowd", owners: 3, locks: 1, forMs: 20 },
    });
    await turns.close();
    expect(grants).toHaveLength(operations);
    expect([...new Set(grants.map(([, owner]) => owner))].sort()).toEqual([0, 1, 2]);
    for (const [at, [, , grantedUs]] of grants.entries()) {
      const [, , , releasedUs] = grants[at - 1] ?? [0, 0, 0, 0];
      expect(grantedUs).toBeGreaterThanOrEqual(releasedUs);
    }
  });

  it("that stand in a queue are each handed the lock once, the first of them by the holder", async () => {
    const turns = await turnsOf(1);
    await turns.queue({ do: "queue", name: "queue", owners: 3 });
    const { operations, grants } = await turns.drain();
    await turns.close();
    expect(operations).toBe(3);
    expect(grants.map(([call, owner]) => [call, owner])).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(crowdOf(grants, Number.POSITIVE_INFINITY)).toMatchObject({ grants: 3 });
    expect(crowdOf(grants, Number.POSITIVE_INFINITY).handOffsUs).toHaveLength(3);
  });
});
