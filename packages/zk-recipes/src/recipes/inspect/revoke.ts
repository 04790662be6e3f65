import type { PrimitiveKind } from "@holdfast/core";
import { revokeMessage } from "../../layout/node-data.js";
import { serves } from "../../layout/recognise.js";
import { recogniseTree } from "../../layout/recognise-tree.js";
import { saysNoNode } from "../../session/errors.js";
import type { RequestError, ZooKeeperSession } from "../../session/types.js";
import { requestFailure } from "../session/failures.js";
import { listTree } from "./inspect-tree.js";

/**
 * Writes Curator's message into the node of each holder, as `Revoker.attemptRevoke` does: of all readers, of all permits.
 * `false` when the lock is free, or when another kind of lock uses the path. A holder that does not listen does not notice, and its
 * node data is overwritten all the same: with an election, the label that the other participants see.
 */
export async function requestRevoke(
  session: ZooKeeperSession,
  kind: PrimitiveKind,
  lockName: string,
  path: string,
): Promise<boolean> {
  const {
    family,
    kind: found,
    holders,
  } = recogniseTree(await listTree(session, kind, lockName, path), { kind });
  const fits = family === null ? found === kind : serves(family, kind);
  if (!fits) return false;
  const asked = await Promise.all(holders.map((holder) => ask(session, lockName, holder.path)));
  return asked.includes(true);
}

/** `false` when the node has gone. */
async function ask(session: ZooKeeperSession, lockName: string, path: string): Promise<boolean> {
  try {
    await session.request("setData", { path, data: revokeMessage, version: -1 });
    return true;
  } catch (error) {
    if (saysNoNode(error)) return false;
    throw requestFailure(`asking the holder by ${path} to let go`, error as RequestError, session, lockName);
  }
}
