import { expect } from "vitest";

/** What `work` rejects with, and after how long. Fails when it does not reject. */
export async function rejection(work: () => Promise<unknown>): Promise<{ error: Error; tookMs: number }> {
  const startedMs = performance.now();
  let value: unknown;
  try {
    value = await work();
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return { error: error as Error, tookMs: performance.now() - startedMs };
  }
  return expect.fail(`it fulfilled with ${String(value)}`);
}

/** What `work` throws at once. Fails when it returns. */
export function thrown(work: () => unknown): Error {
  let value: unknown;
  try {
    value = work();
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    return error as Error;
  }
  return expect.fail(`it returned ${String(value)}`);
}
