import type { LockRow, Participant, SessionRow } from "../../../src/contract/api.js";
import { atLeast, exact, unknown } from "./moments.js";

export function sessionsOf(
  rows: readonly LockRow[],
  queues: ReadonlyMap<string, readonly Participant[]>,
): SessionRow[] {
  const sessions = new Map<string, SessionRow>();
  const nowMs = Date.now();
  for (const row of rows) {
    const add = (each: Participant, list: "holds" | "waits"): void => {
      if (each.session === null) return;
      const session = sessions.get(each.session) ?? {
        id: each.session,
        cluster: row.cluster,
        backend: row.backend,
        server: row.backend === "zookeeper" ? "zk-1:2181" : null,
        address: each.address,
        identity: each.identity,
        timeoutMs: row.backend === "zookeeper" ? 20_000 : null,
        established: row.backend === "zookeeper" ? exact(nowMs - 8_000_000) : unknown,
        lastSeen: row.backend === "zookeeper" ? exact(nowMs - 1200) : atLeast(nowMs - 4000),
        holdCount: 0,
        waitCount: 0,
        holds: [],
        waits: [],
        state: row.backend === "zookeeper" ? "connected" : "unknown",
      };
      if (!session[list].some(({ lockId }) => lockId === row.id))
        session[list].push({ key: row.key, lockId: row.id });
      session.holdCount = session.holds.length;
      session.waitCount = session.waits.length;
      sessions.set(each.session, session);
    };
    for (const each of row.holders) add(each, "holds");
    for (const each of queues.get(row.id) ?? []) add(each, "waits");
  }
  return [...sessions.values()];
}
