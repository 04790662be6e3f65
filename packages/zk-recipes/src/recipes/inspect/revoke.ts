import { revokeMessage } from "../../layout/node-data.js";
import { serves } from "../../layout/recognise.js";
import { blockersOf, recogniseTree } from "../../layout/recognise-tree.js";
import type { ZooKeeperSession } from "../../session/types.js";
import { orNone } from "../session/failures.js";
import { type LockPlace, listTree, readPeople, withBlockers } from "./inspect-tree.js";

/**
 * Writes Curator's message into the node of each holder, as `Revoker.attemptRevoke` does: of all readers, of all permits.
 * `false` when the lock is free, or when another kind of lock uses the path. A holder that does not listen does not
 * notice the message, but its node data is overwritten all the same. In an election that is the label that the other
 * participants see.
 */
export async function requestRevoke(session: ZooKeeperSession, place: LockPlace): Promise<boolean> {
  const { kind, lockName } = place;
  const tree = await listTree(session, place);
  const names = recogniseTree(tree, { kind });
  const head = names.holders.slice(0, 1).map(({ path }) => path);
  const isBlocked = blockersOf(tree.path, names.findings).length > 0;
  const read = isBlocked ? await readPeople(session, tree, head, undefined) : tree;
  const {
    family,
    kind: found,
    holders,
  } = recogniseTree(await withBlockers(session, read, names.findings), { kind });
  const fits = family === null ? found === kind : serves(family, kind);
  if (!fits) return false;
  // `null` stands for a node that has gone.
  const asked = await Promise.all(
    holders.map((holder) => {
      const message = { path: holder.path, data: revokeMessage, version: -1 };
      const what = `asking the holder by ${holder.path} to let go`;
      return orNone(session.request("setData", message), what, session, lockName);
    }),
  );
  return asked.some((answer) => answer !== null);
}
