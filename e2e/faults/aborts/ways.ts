import { type AcquireOptions, AcquireTimeoutError, BackendError, type LockHandle } from "@holdfast/core";
import { expect } from "vitest";
import { exactly } from "../server/chance.js";

/** A way to make an acquire give up, and the error that it must reject with then. */
export interface Way {
  readonly what: string;
  /** Whether the acquire gives up even when the grant is on its way. */
  readonly atOnce: boolean;
  /** The options of an acquire that has to give up after `ms`. Called when the acquire starts. */
  begin(ms: number): { options: AcquireOptions; expectError(error: unknown): void };
}

export function abortAfter(ms: number): { signal: AbortSignal; reason: object } {
  const controller = new AbortController();
  const reason = { why: "the caller has had enough" };
  void exactly(ms).then(() => controller.abort(reason));
  return { signal: controller.signal, reason };
}

/** A limit this short may also pass before the server has answered anything. */
function expectTimeout(error: unknown): void {
  if (error instanceof BackendError) expect(error.message).toMatch(/no answer from zookeeper/);
  else expect(error).toBeInstanceOf(AcquireTimeoutError);
}

export const ways: Way[] = [
  {
    what: "waitMs",
    atOnce: false,
    begin: (ms) => ({ options: { waitMs: Math.max(0.1, ms) }, expectError: expectTimeout }),
  },
  {
    what: "a signal",
    atOnce: true,
    begin: (ms) => {
      const { signal, reason } = abortAfter(ms);
      return { options: { signal }, expectError: (error) => expect(error).toBe(reason) };
    },
  },
  {
    what: "a signal before waitMs",
    atOnce: true,
    begin: (ms) => {
      const { signal, reason } = abortAfter(ms);
      return { options: { signal, waitMs: 10_000 }, expectError: (error) => expect(error).toBe(reason) };
    },
  },
  {
    what: "waitMs before a signal",
    atOnce: false,
    begin: (ms) => ({
      options: { signal: AbortSignal.timeout(60_000), waitMs: Math.max(0.1, ms) },
      expectError: expectTimeout,
    }),
  },
  {
    what: "waitMs and a signal at once",
    atOnce: true,
    begin: (ms) => {
      const { signal, reason } = abortAfter(ms);
      return {
        options: { signal, waitMs: Math.max(0.1, ms) },
        expectError: (error) => (error === reason ? undefined : expectTimeout(error)),
      };
    },
  },
];

/** Returns the handle, or `null` after an error that `expectError` has accepted. */
export async function handleOrApproved(
  acquired: Promise<LockHandle>,
  expectError: (error: unknown) => void,
): Promise<LockHandle | null> {
  try {
    return await acquired;
  } catch (error) {
    expectError(error);
    return null;
  }
}
