import type { Age, HoldInfo, ParticipantInfo } from "@holdfast/core";
import { formatSessionId } from "@holdfast/zk-protocol";
import { mayBeKept } from "../../layout/queue-order.js";
import type { TreeParticipant } from "../../layout/tree.js";
import type { SessionContext } from "../session-context.js";

/** What a participant's node shows. `sinceMs`: how long the node has been there, which is how long a waiter waits. */
export function participantInfo(person: TreeParticipant, takenAt: Date): ParticipantInfo {
  const { label, mode, path, session, address, recognisedAs } = person;
  return {
    owner: null,
    label,
    mode,
    backendId: path,
    session: session === null || session === 0n ? null : formatSessionId(session),
    address,
    recognisedAs,
    sinceMs: age(person, takenAt),
  };
}

/** A hold. A holder's node shows only since when the holder queued. Since when it holds is known for our own grants only. */
export function holdInfo(context: SessionContext, person: TreeParticipant, takenAt: Date): HoldInfo {
  const { runtime, grants } = context;
  const own = grants.get(person.path);
  return {
    ...participantInfo(person, takenAt),
    sinceMs:
      own === undefined
        ? { value: null, provenance: "unknown" }
        : { value: runtime.nowMs() - own.grantedAtMs, provenance: "exact" },
    token: own?.token ?? person.token,
    holdCount: 1,
    heldByThisProvider: own !== undefined,
    remainingMs: null,
    kept: own === undefined && mayBeKept(person.name) ? null : false,
  };
}

/**
 * The age of a node: our clock now, less the server's clock at its creation. It is never negative, and exact as far as
 * the two clocks agree.
 */
function age({ sinceMs }: TreeParticipant, takenAt: Date): Age {
  if (sinceMs === null) return { value: null, provenance: "unknown" };
  return { value: Math.max(0, takenAt.getTime() - sinceMs), provenance: "exact" };
}
