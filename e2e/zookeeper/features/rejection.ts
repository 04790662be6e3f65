import { expect } from "vitest";

/** The error with which `work` rejects, and the time until then. Fails if it does not reject. */
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

/** The error that `work` throws at once. Fails if it returns. */
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
