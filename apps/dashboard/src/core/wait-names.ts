import type { WaitCycle, WaitEdge } from "@holdfast/collectors/internal";
import type { Waits } from "../contract/api.js";
import { lockIdOf } from "./lock-id.js";

/** The id of a waiting participant in the API. */
export function actorIdOf({ cluster, from }: Pick<WaitEdge, "cluster" | "from">): string {
  return `${cluster}/${from.actor}`;
}

export function cycleRowOf(cycle: WaitCycle): Waits["cycles"][number] {
  const deadlines = cycle.edges.flatMap(({ from }) => (from.deadlineMs === null ? [] : [from.deadlineMs]));
  return {
    actors: cycle.ring.map(actorIdOf),
    lockIds: cycle.ring.map(lockIdOfEdge),
    certainty: cycle.certainty,
    resolvesMs: deadlines.length === 0 ? null : Math.min(...deadlines),
  };
}

/** The same order, whatever the order of the edges is. */
export function lockIdsOf(edges: readonly WaitEdge[]): string[] {
  return [...new Set(edges.map(lockIdOfEdge))].sort();
}

function lockIdOfEdge({ cluster, lock }: WaitEdge): string {
  return lockIdOf({ cluster, backend: lock.backend, key: lock.key });
}
