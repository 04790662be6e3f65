import type { ResponseOf, Stat } from "@holdfast/zk-protocol";
import { joinPath } from "@holdfast/zk-protocol";
import { orAbsent, outcomeOf } from "../recipes/requests/retrying-requests.js";
import type { Outcome, ZooKeeperSession } from "../session/types.js";

export const readyName = "ready";

/** The members of a double barrier among its children, in Curator's order. The first one leaves last. */
export function membersOf(children: readonly string[]): string[] {
  return children.filter((name) => name !== readyName).sort();
}

/** Whether one of `names` is older than `ready`. If so, the round that made `ready` still goes on. */
export async function anyOlder(
  session: ZooKeeperSession,
  parent: string,
  names: readonly string[],
  ready: Stat,
): Promise<Outcome<boolean>> {
  const reads: Promise<Outcome<ResponseOf<"exists"> | null>>[] = [];
  for (const name of names) {
    const read = outcomeOf(session, "exists", { path: joinPath(parent, name), watch: false });
    reads.push(read.then(orAbsent));
  }
  let found = false;
  for (const outcome of await Promise.all(reads)) {
    if (!outcome.ok) return outcome;
    found ||= outcome.value !== null && outcome.value.stat.czxid < ready.czxid;
  }
  return { ok: true, value: found, zxid: 0n };
}
