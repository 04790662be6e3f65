import { MemorySpace, memoryLocks } from "@holdfast/core";
import { expect, it } from "vitest";
import { MemoryBoard } from "../../src/memory/rendezvous/memory-board.js";

it("a double barrier in memory keeps nothing of its name once all have left, however they left", async () => {
  const space = new MemorySpace();
  const locks = memoryLocks({ space });
  const { rounds } = MemoryBoard.of(space);
  const [one, other] = [locks.doubleBarrier("a", 2), locks.doubleBarrier("a", 2)];
  const memberships = await Promise.all([one.enter(), other.enter()]);
  expect([...rounds.keys()]).toEqual(["a"]);
  await Promise.all(memberships.map((membership) => membership.leave()));
  expect([...rounds.keys()]).toEqual([]);
  await expect(locks.doubleBarrier("b", 2).enter({ waitMs: 10 })).rejects.toMatchObject({
    code: "HF_ACQUIRE_TIMEOUT",
  });
  expect([...rounds.keys()]).toEqual([]);
  await locks.close();
});
