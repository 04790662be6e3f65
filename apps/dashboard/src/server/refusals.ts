import { randomUUID } from "node:crypto";
import type { AuditRow } from "../contract/api.js";
import { addressOf } from "../core/lock-id.js";
import type { Refused } from "./access.js";

/** What the audit says of a request that the guard has turned away. */
export function refusalRow({ request, principal, claimedName, problem }: Refused, atMs: number): AuditRow {
  const { id } = (request.params ?? {}) as { readonly id?: string };
  const address = id === undefined || claimedName !== null ? null : addressOf(id);
  return {
    id: randomUUID(),
    atMs,
    actor: principal?.name ?? (claimedName || "anybody"),
    role: principal?.role ?? "none",
    address: request.ip,
    action: claimedName === null ? "request" : "sign-in",
    cluster: address?.cluster ?? "",
    object: address?.key ?? `${request.method} ${request.routeOptions.url ?? ""}`,
    entry: null,
    before: null,
    after: null,
    reason: problem.message,
    dryRun: false,
    outcome: "denied",
  };
}
