import type { FindingRow, LockRow } from "../../../src/contract/api.js";

export function makeFindings(rows: readonly LockRow[], nowMs: number): FindingRow[] {
  const [first, second, third] = rows;
  const base = { cluster: "prod-eu", muted: null };
  if (first === undefined || second === undefined || third === undefined) return [];
  return [
    {
      ...base,
      id: "f1",
      kind: "deadlock-suspected",
      severity: "critical",
      object: first.key,
      lockId: first.id,
      sinceMs: nowMs - 42_000,
      evidence: "Two sessions wait for each other, seen in two pictures 2.4 s apart with the same nodes.",
      advice: "Look at the circle under Waits; ask one of the holders to leave.",
    },
    {
      ...base,
      id: "f2",
      kind: "long-hold",
      severity: "warning",
      object: third.key,
      lockId: third.id,
      sinceMs: nowMs - 400_000,
      evidence: "Held for 6 min while 10 wait; the median hold of this lock is 1.2 s.",
      advice: "See what its holder does; its session is alive.",
    },
    {
      ...base,
      cluster: "cache-eu",
      id: "f3",
      kind: "eviction-policy",
      severity: "critical",
      object: "10.0.0.7:6379",
      lockId: null,
      sinceMs: nowMs - 3_600_000,
      evidence: "maxmemory-policy is allkeys-lru.",
      advice: "Set maxmemory-policy noeviction, or held locks are deleted when the memory is full.",
    },
    {
      ...base,
      id: "f4",
      kind: "orphan-parent",
      severity: "info",
      object: "/locks/nightly",
      lockId: null,
      sinceMs: nowMs - 86_400_000,
      evidence: "1,204 empty parents that are no containers.",
      advice: "Clean up, with a dry run first.",
    },
    {
      ...base,
      id: "f5",
      kind: "unauthenticated-admin",
      severity: "warning",
      object: "zk-2:8080",
      lockId: null,
      sinceMs: nowMs - 7_200_000,
      evidence: "AdminServer answers without credentials.",
      advice: "Bind it to loopback.",
      muted: { reason: "behind the firewall until the move", by: "anna", untilMs: nowMs + 86_400_000 },
    },
  ];
}
