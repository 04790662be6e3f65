import type { CallInfo, RetryingRequests } from "../recipes/requests/retrying-requests.js";
import { conditionalWrite } from "./conditional-write.js";

/** A wait that grows with the tries, so that many writers of one node do not refuse each other for ever. */
const longestPauseMs = 64;
const mostTries = 1_000;

/**
 * Reads, decides, and writes what was decided if no other client has written meanwhile; again if one has. `next` gives
 * the new bytes, or `null` to leave everything as it is; it may be called many times, and what it throws ends it.
 * Resolves to whether it was written.
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
      let data = next(found?.data ?? null, found !== null);
      if (data === null) {
        // A server that lags shows what was there before. A write is guarded by the version; that nothing is written has to be confirmed.
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
