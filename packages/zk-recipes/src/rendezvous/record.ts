import { LayoutConflictError } from "@holdfast/core";
import type { RecordStore } from "@holdfast/core/internal";
import type { Stat } from "@holdfast/zk-protocol";
import {
  type CallInfo,
  outcomeOf,
  type RetryingRequests,
  refusalOf,
} from "../recipes/requests/retrying-requests.js";
import type { FoundNode } from "../recipes/requests/watched-node.js";
import { isPassing } from "../recipes/session/failures.js";
import { checkLasting, inDoubt, isCondition, judge, unknown } from "../values/conditional-write.js";

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
        /** The node before a write whose answer was lost; `undefined` if there was no such write. */
        let doubtful: Stat | null | undefined;
        const doubting = <T>(work: Promise<T>): Promise<T> =>
          doubtful === undefined ? work : inDoubt(calls, call, "replace", work);
        for (let tries = 1; ; tries++) {
          const found = await doubting(calls.readSynced(call));
          const now = textOf(path, found);
          if (now === text) return true;
          // Our text may have been there, and another client may have replaced it.
          if (doubtful !== undefined && judge(doubtful, found, data) === "unknown")
            throw unknown(calls, call, "replace");
          if (now !== seen) return false;
          if (found !== null) checkLasting(call, found.stat);
          const context = await calls.connected(call);
          const outcome =
            found === null
              ? await calls.create(context, call, { path, data, ephemeral: false })
              : await outcomeOf(context.session, "setData", { path, data, version: found.stat.version });
          if (outcome.ok) return true;
          const { error } = outcome;
          const refusal = refusalOf(error);
          if (refusal !== null && !isPassing(refusal) && !isCondition(refusal.code))
            throw calls.failure(call, error);
          if (refusal === null && error.name !== "NotConnectedError") doubtful = found?.stat ?? null;
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
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch (cause) {
    throw new LayoutConflictError(`the data of ${path} is no text`, { cause, backend: "zookeeper" });
  }
}
