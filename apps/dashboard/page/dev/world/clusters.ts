import type { ClusterRow, LockRow } from "../../../src/contract/api.js";

export type Scenario =
  | "plain"
  | "down"
  | "stale"
  | "partial"
  | "empty"
  | "no-roots"
  | "no-cluster"
  | "denied"
  | "viewer"
  | "read-only"
  | "signed-out"
  | "slow";

export function clustersOf(rows: readonly LockRow[], scenario: Scenario): ClusterRow[] {
  const nowMs = Date.now();
  if (scenario === "no-cluster") return [];
  const down = scenario === "down";
  const off = scenario === "no-roots";
  const source = {
    state: "ok",
    coverage: 1,
    lastSuccessMs: nowMs - 400,
    nextTryMs: null,
    cost: null,
    message: null,
  };
  return [
    {
      name: "prod-eu",
      backend: "zookeeper",
      state: down ? "down" : scenario === "stale" ? "stale" : "ok",
      locks: rows.filter((row) => row.backend === "zookeeper").length,
      coverage: 1,
      lastSuccessMs: down || scenario === "stale" ? nowMs - 42_000 : nowMs - 300,
      schedules: true,
      sources: [
        off
          ? {
              ...source,
              source: "roots",
              state: "off",
              coverage: 0,
              lastSuccessMs: null,
              message: "No roots are configured.",
            }
          : down
            ? {
                ...source,
                source: "watch /locks",
                state: "down",
                lastSuccessMs: nowMs - 42_000,
                nextTryMs: nowMs + 4000,
                message: "zk-1:2181 refuses connections.",
              }
            : { ...source, source: "watch /locks", cost: "1 watch" },
        ...(scenario === "denied"
          ? [
              {
                ...source,
                source: "watch /secret",
                state: "denied",
                coverage: 0,
                message: "NoAuth: grant read with `setAcl /secret auth:dashboard:r`.",
              },
              {
                ...source,
                source: "watch /jobs",
                state: "too-big",
                coverage: 0,
                message: "1,204,311 nodes, more than 200,000; name a narrower root such as /jobs/eu.",
              },
            ]
          : []),
        { ...source, source: "sessions", cost: "connections every 15 s" },
      ],
    },
    {
      name: "cache-eu",
      backend: "redis",
      state: scenario === "partial" ? "syncing" : "ok",
      locks: rows.filter((row) => row.backend === "redis").length,
      coverage: scenario === "partial" ? 0.63 : 1,
      lastSuccessMs: nowMs - 800,
      schedules: true,
      sources: [
        off
          ? {
              ...source,
              source: "scan",
              state: "off",
              coverage: 0,
              lastSuccessMs: null,
              message: "No patterns are configured, so nothing is scanned.",
            }
          : {
              ...source,
              source: "scan order:*",
              state: scenario === "partial" ? "syncing" : "ok",
              coverage: scenario === "partial" ? 0.63 : 1,
              cost: "20 calls/s, 1.8 % CPU",
            },
        { ...source, source: "pubsub", cost: "2 calls each 2 s" },
      ],
    },
  ];
}
