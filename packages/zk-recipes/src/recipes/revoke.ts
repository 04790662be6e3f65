import { errorCodes, joinPath, ZooKeeperError } from "@holdfast/zk-protocol";
import { revokeMessage } from "../layout/node-data.js";
import { inQueueOrder, isContender, mutexBase } from "../layout/queue-order.js";
import type { RequestError, ZooKeeperSession } from "../session/types.js";
import { requestFailure } from "./failures.js";

/**
 * Writes Curator's message into the holder's node, as `Revoker.attemptRevoke` does. `false` when nobody holds.
 * A holder that did not listen does not notice, and its node data is overwritten all the same.
 */
export async function requestRevoke(
  session: ZooKeeperSession,
  lockName: string,
  path: string,
): Promise<boolean> {
  try {
    const { children } = await session.request("getChildren2", { path, watch: false });
    const holder = inQueueOrder(children, mutexBase)[0];
    if (holder === undefined || !isContender(holder, mutexBase)) return false;
    await session.request("setData", { path: joinPath(path, holder), data: revokeMessage, version: -1 });
    return true;
  } catch (error) {
    if (error instanceof ZooKeeperError && error.code === errorCodes.NoNode) return false;
    throw requestFailure(`asking the holder of ${path} to let go`, error as RequestError, session, lockName);
  }
}
