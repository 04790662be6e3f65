import { LayoutConflictError } from "@holdfast/core";
import type { RecordStore } from "@holdfast/core/internal";
import {
  type CallInfo,
  outcomeOf,
  type RetryingRequests,
  refusalOf,
} from "../recipes/requests/retrying-requests.js";
import type { FoundNode } from "../recipes/requests/watched-node.js";
import { isPassing } from "../recipes/session/failures.js";
import { isLost } from "../session/errors.js";
import {
  checkLasting,
  inDoubt,
  isCondition,
  judgeLost,
  type LostWrite,
  nowOf,
  unknown,
} from "../values/conditional-write.js";

/**
 * A text on a persistent node, as Curator's `SharedValue` would read it. Each read goes through the leader first
 * (`sync`), because a server that lags behind would show a record that was replaced. Each write has the version that was
 * read as its condition, so a late write never replaces a newer text.
 */
export function zooKeeperRecord(calls: RetryingRequests, name: string): RecordStore {
  const call: CallInfo = { lockName: name, path: calls.pathOf(name), patient: false };
  const { path } = call;
  return {
    read: async () => textOf(path, await calls.readSynced(call)),
    replace: (seen, text) =>
      calls.inTurn(call, async () => {
        const startedMs = calls.runtime.nowMs();
        const data = Buffer.from(text);
        /** The last write whose answer was lost, if there was one. */
        let lost: LostWrite | null = null;
        const doubting = <T>(work: Promise<T>): Promise<T> =>
          lost === null ? work : inDoubt(calls, call, "replace", work);
        for (let tries = 1; ; tries++) {
          const found = await doubting(calls.readSynced(call));
          const now = textOf(path, found);
          if (now === text) return true;
          // Our text may have been there, and another client may have replaced it.
          if (lost !== null && (await doubting(judgeLost(calls, call, lost, found, data))) === "unknown")
            throw unknown(calls, call, "replace");
          if (now !== seen) return false;
          if (found !== null) checkLasting(call, found.stat);
          const context = await doubting(calls.connected(call));
          const sent = await nowOf(context, path);
          if (context.over) continue;
          const outcome =
            found === null
              ? await calls.create(context, call, { path, data, ephemeral: false })
              : await outcomeOf(context.session, "setData", { path, data, version: found.stat.version });
          if (outcome.ok) return true;
          const { error } = outcome;
          const refusal = refusalOf(error);
          if (refusal !== null && !isPassing(refusal) && !isCondition(refusal.code))
            throw calls.failure(call, error);
          if (isLost(error)) lost = { seen: found?.stat ?? null, ...sent };
          // The answer was lost or another client was faster: the next read shows which.
          if (tries > 1) await doubting(calls.rest(call, tries, startedMs, error));
        }
      }),
  };
}

/** The text, or `null`. A node without data has no text yet: a lock below it may have made it as its parent. */
function textOf(path: string, found: Pick<FoundNode, "data"> | null): string | null {
  const data = found?.data ?? null;
  if (data === null || data.length === 0) return null;
  try {
    // `ignoreBOM` keeps a byte order mark, which is a character of the text. Without it the decoder takes the mark away.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch (cause) {
    throw new LayoutConflictError(`the data of ${path} is no text`, { cause, backend: "zookeeper" });
  }
}
