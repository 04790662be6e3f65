import type { Fault, History } from "../history/history.js";
import type { Nanos } from "../history/record.js";

/**
 * How much of a stretch no fault excuses. A fault disturbs as long as it is on. A fault that leaves a majority of the
 * ensemble up disturbs for one lease only, in which another leader is elected and sessions move. Each stretch between
 * faults counts less one lease, because a session or lease that a fault has cut off runs out in that time. The time
 * after the last fault counts as a whole.
 */
export function undisturbed(history: History, from: Nanos, to: Nanos, leaseNs: number): Nanos {
  let sum = 0;
  let lastEnd = from;
  let settledAt = from + leaseNs;
  for (const fault of history.faults) {
    if (fault.from > to) break;
    const end = leavesMajority(history, fault) ? Math.min(fault.to, fault.from + leaseNs) : fault.to;
    if (end < from) continue;
    sum += Math.max(0, fault.from - settledAt);
    lastEnd = Math.max(lastEnd, end);
    settledAt = Math.max(settledAt, end + leaseNs);
  }
  return sum + Math.max(0, to - lastEnd);
}

/** Whether most members were up and connected with each other during the fault. `false` if the number of members is not known. */
function leavesMajority(history: History, fault: Fault): boolean {
  const { members } = history.meta;
  if (members === undefined) return false;
  const hit = serversOf(fault);
  if (hit === null) return false;
  const away = new Set(hit);
  for (const other of history.faults) {
    if (other.from > fault.to) break;
    if (other.to < fault.from) continue;
    for (const server of serversOf(other) ?? []) away.add(server);
  }
  return 2 * away.size < members;
}

/**
 * The members that a fault took away completely. `null` for a fault of a client, and for a fault of the network, which
 * may leave clients connected to the minority.
 */
function serversOf({ name, begin, end }: Fault): readonly string[] | null {
  const evidence = (begin.evidence ?? end?.evidence ?? null) as { servers?: unknown } | null;
  if (name.startsWith("net.") || !Array.isArray(evidence?.servers)) return null;
  return evidence.servers.map(String);
}
