import type { LockHandle, PermitHandle, Semaphore } from "@holdfast/core";
import { expect } from "vitest";
import type { Harness } from "./harness.js";

/** Waits until the backend shows this many free permits and no waiters. */
export function untilAvailable(h: Harness, semaphore: Semaphore, permits: number): Promise<void> {
  return h.until(`${permits} free and none in the queue of ${semaphore.name}`, async () => {
    const { available, pending } = await semaphore.inspect();
    return available === permits && pending.length === 0;
  });
}

/**
 * Ends the hold of permits as the backend would. The fixture ends any hold, although the type of a permit handle hides its
 * mode.
 */
export async function losePermits(h: Harness, handle: PermitHandle): Promise<void> {
  const { lost } = handle;
  await h.fixture.loseHold(handle as PermitHandle & LockHandle);
  await h.untilAborted("the holder to hear of its loss", lost);
}

export async function stillHeld(handle: PermitHandle): Promise<void> {
  await handle.confirm();
  expect(handle.state).toBe("held");
  expect(handle.lost.aborted).toBe(false);
}
