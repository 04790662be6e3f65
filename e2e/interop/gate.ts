import { expect } from "vitest";

/** A hold of the lock for which contenders queue. */
interface Gate {
  /** How many wait behind it. */
  queued(): Promise<number | null>;
  /** Gives the lock to the first of them. */
  open(): Promise<unknown>;
}

/**
 * Waits for all contenders, which a gate holds back until each of them stands in the queue. A lock changes its holder some
 * hundred times a second. So a contender that began a little late would find the others done, and would meet none of them.
 */
export async function behind(gate: Gate, contenders: readonly Promise<unknown>[]): Promise<void> {
  const opened = async (): Promise<void> => {
    await expect.poll(() => gate.queued()).toBe(contenders.length);
    await gate.open();
  };
  await Promise.all([...contenders, opened()]);
}
