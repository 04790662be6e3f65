import { randomUUID } from "node:crypto";
import type { AuditRow } from "../contract/api.js";
import { addressOf } from "../core/lock-id.js";
import type { Refused } from "./access.js";

/** Callers that are not known yet choose these names. A name must not make a line of the audit long. */
const longestName = 128;

/** The row of the audit for a request that the guard has refused. */
export function refusalRow({ request, principal, claimedName, problem }: Refused, atMs: number): AuditRow {
  const { id } = (request.params ?? {}) as { readonly id?: string };
  const address = id === undefined || claimedName !== null ? null : addressOf(id);
  return {
    id: randomUUID(),
    atMs,
    actor: cut(principal?.name ?? (claimedName || "anybody")),
    role: principal?.role ?? "none",
    address: request.ip,
    action: claimedName === null ? "request" : "sign-in",
    cluster: cut(address?.cluster ?? ""),
    object: cut(address?.key ?? `${request.method} ${request.routeOptions.url ?? ""}`),
    entry: null,
    before: null,
    after: null,
    reason: problem.message,
    dryRun: false,
    outcome: "denied",
  };
}

function cut(name: string): string {
  return name.length <= longestName ? name : `${name.slice(0, longestName - 1)}…`;
}
