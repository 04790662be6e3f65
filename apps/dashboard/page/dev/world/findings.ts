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
      evidence:
        "pay-1 (pid 812) waits for /locks/settle-eu-0, held by stock-3 (pid 840); stock-3 (pid 840) waits for /locks/ledger-5, held by pay-1 (pid 812).",
      advice: "Ask one of the holders to release, or end its process.",
    },
    {
      ...base,
      id: "f2",
      kind: "stuck-with-waiters",
      severity: "critical",
      object: third.key,
      lockId: third.id,
      sinceMs: nowMs - 400_000,
      evidence: "Held for 6 min by billing-8 (pid 16747); 10 waiting, longest 4 min.",
      advice: "Check what the holder is doing; ask it to release the lock before you force anything.",
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
