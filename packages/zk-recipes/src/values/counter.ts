import type { CallInfo, RetryingRequests } from "../recipes/requests/retrying-requests.js";
import { checkLasting, conditionalWrite } from "./conditional-write.js";

/** The wait between tries grows up to this time, so that many writers of one node do not refuse each other for ever. */
const longestPauseMs = 64;
const mostTries = 1_000;

/**
 * Reads the node, calls `next`, and writes what it returns if no other client has written meanwhile; otherwise starts
 * again. `next` returns the new bytes, or `null` to leave everything as it is. It may be called many times; an error that
 * it throws for the node as the leader has it ends the update. Resolves to whether something was written.
 */
export async function update(
  calls: RetryingRequests,
  call: CallInfo,
  what: string,
  next: (data: Uint8Array | null, there: boolean) => Uint8Array | null,
): Promise<boolean> {
  return await calls.inTurn(call, async () => {
    for (let tries = 1; tries <= mostTries; tries++) {
      let found = await calls.read(call);
      let data: Uint8Array | null = null;
      try {
        if (found !== null) checkLasting(call, found.stat);
        data = next(found?.data ?? null, found !== null);
      } catch {
        // The node as the leader has it may be refused too, below.
      }
      if (data === null) {
        // A server that lags shows an older node. A write is guarded by the version, but a decision not to write, and a
        // refusal, have to be confirmed.
        found = await calls.readSynced(call);
        data = next(found?.data ?? null, found !== null);
        if (data === null) return false;
      }
      const written = await conditionalWrite(calls, call, found?.stat ?? null, data, what);
      if (written !== null) return true;
      await calls.pause(calls.runtime.random() * Math.min(longestPauseMs, 2 ** tries));
    }
    throw calls.failure(call, new Error(`${what}: others wrote in between ${mostTries} times in a row`));
  });
}
