import type { InspectOptions, LockSnapshot } from "@holdfast/core";
import { recogniseTree } from "../../layout/recognise-tree.js";
import type { TreeHints, TreeParticipant } from "../../layout/tree.js";
import type { SessionContext } from "../session-context.js";
import { holdInfo, participantInfo } from "./inspect-people.js";
import { type LockPlace, listTree, readPeople, withBlockers } from "./inspect-tree.js";

const defaultMaxPending = 1_000;

/** The snapshot has this kind if the nodes that were found can be of it. */
export interface InspectSpec extends LockPlace {
  /** The number of permits of a semaphore, if it is known. */
  readonly limit?: number | undefined;
}

/** How often the path is listed at most, if all holders are gone each time before their nodes can be read. */
const looks = 5;

/**
 * Holders and queue of a path, whichever clients made the nodes and of whatever kind they are. The reads of two nodes may
 * be from different moments. A node that went between the listing and its read is left out. If all holders went in that
 * way, the path is listed again: a snapshot should be without a holder only if there was none.
 */
export async function inspectPath(
  context: SessionContext,
  spec: InspectSpec,
  options: InspectOptions,
): Promise<LockSnapshot> {
  const { session, runtime } = context;
  const { kind, lockName, limit } = spec;
  const hints: TreeHints = { kind, limit, ours: (each) => context.nodes.has(each) };
  for (let look = 1; ; look++) {
    const listed = await listTree(session, spec);
    const names = recogniseTree(listed, hints);
    const { maxPending = defaultMaxPending } = options;
    // The first waiter of a semaphore is read in any case: a lease of its session is no hold yet.
    const people = [...names.holders, ...names.waiters.slice(0, Math.max(1, maxPending))];
    const wanted = people.map((person) => person.path);
    const read = await readPeople(session, listed, wanted, options.signal);
    const found = recogniseTree(await withBlockers(session, read, names.findings), hints);
    const takenAt = new Date(runtime.wallMs());
    const wasRead = new Set(wanted);
    const isShown = (person: TreeParticipant): boolean => person.session !== null && wasRead.has(person.path);
    const snapshot: LockSnapshot = {
      name: lockName,
      takenAt,
      kind: found.kind,
      held: found.holders.filter(isShown).map((person) => holdInfo(context, person, takenAt)),
      pending: found.waiters
        .filter(isShown)
        .slice(0, maxPending)
        .map((person, position) => ({ ...participantInfo(person, takenAt), position })),
      // The waiters of a naive mutex have no nodes. Only the server knows them, and it does not list them.
      pendingTotal: (found.kind ?? kind) === "naive-mutex" ? null : found.waiters.length,
    };
    if (snapshot.held.length > 0 || found.holders.length === 0 || look === looks) return snapshot;
  }
}
