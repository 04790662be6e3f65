import { randomUUID } from "node:crypto";
import type { ActionResult, LockAction } from "@holdfast/collectors";
import { atLeast, type Principal } from "../auth/roles.js";
import type { ActionAnswer, ActionBody, AuditRow } from "../contract/api.js";
import { within } from "../core/bounded.js";
import { roleOfAction } from "../core/lock-detail.js";
import type { Observatory } from "../core/observatory.js";
import { backendFailed, messageOf, ProblemError } from "../core/problems.js";
import { rowOf } from "../core/rows.js";
import type { AuditLog } from "./audit-log.js";

const answerMs = 10_000;

export interface Actor {
  readonly principal: Principal;
  readonly address: string;
}

export type CountedOutcome = "ok" | "denied" | "conflict" | "error";

export interface OperatorActionsParts {
  readonly observatory: Observatory;
  readonly audit: AuditLog;
  /** `false`: all actions on locks are refused, whatever the role. */
  readonly enabled: boolean;
  readonly onOutcome: (what: {
    cluster: string;
    action: LockAction | "mute";
    outcome: CountedOutcome;
  }) => void;
  /** Called when holds of a lock were ended by force from here. */
  readonly onForced?: (cluster: string, key: string, entries: readonly string[]) => void;
  /** Called for a line of the audit that could not be written after the action. */
  readonly onLostLine: (row: AuditRow, error: unknown) => void;
}

/** Carries out actions on locks: checks everything that must be true before, and writes everything down. */
export class OperatorActions {
  readonly #parts: OperatorActionsParts;

  constructor(parts: OperatorActionsParts) {
    this.#parts = parts;
  }

  mayAct(principal: Principal, action: LockAction): boolean {
    return this.#parts.enabled && atLeast(principal.role, roleOfAction[action]);
  }

  /** @throws ProblemError. An answer with outcome `conflict` has status 409. */
  async act(lockId: string, body: ActionBody, actor: Actor): Promise<ActionAnswer> {
    const { observatory, enabled } = this.#parts;
    const { cluster, key } = observatory.locate(lockId);
    const dryRun = body.dryRun === true;
    const row: AuditRow = {
      id: randomUUID(),
      atMs: observatory.now(),
      actor: actor.principal.name ?? "anybody",
      role: actor.principal.role,
      address: actor.address,
      action: body.action,
      cluster: cluster.name,
      object: key,
      entry: body.entry ?? null,
      before: body.expectedVersion,
      after: null,
      reason: body.reason,
      dryRun,
      outcome: "denied",
    };
    if (!enabled)
      throw await this.#deny(
        row,
        body.action,
        "actions-off",
        "actions are switched off in the configuration",
      );
    if (!this.mayAct(actor.principal, body.action)) {
      const message = `${body.action} takes the role ${roleOfAction[body.action]}`;
      throw await this.#deny(row, body.action, "forbidden", message);
    }
    if (!dryRun && body.confirmation !== key)
      throw new ProblemError(422, "not-confirmed", "the confirmation is not the name of the lock");
    if (!dryRun) await this.#begin(row);
    const result = await this.#perform(row, body.action, () =>
      cluster.collector.act({
        action: body.action,
        key,
        entry: body.entry ?? null,
        expectedVersion: body.expectedVersion,
        dryRun,
        unknownLibrary: body.library === "unknown",
      }),
    );
    const { outcome, effects, before, after, endedHolds = [] } = result;
    if (outcome === "denied") throw await this.#deny(row, body.action, "denied", effects.join(" "));
    if (outcome === "unread") {
      await this.#end(row);
      this.#count(row, body.action, "error");
      throw backendFailed(cluster.name, effects.join(" "));
    }
    if (endedHolds.length > 0) {
      observatory.forced(cluster.name, endedHolds.length);
      this.#parts.onForced?.(cluster.name, key, endedHolds);
    }
    await this.#end({ ...row, before: before?.version ?? null, after: after?.version ?? null, outcome });
    this.#count(row, body.action, countedAs(outcome));
    return {
      outcome,
      effects: [...effects],
      before: before === null ? null : rowOf(cluster.name, before),
      after: after === null ? null : rowOf(cluster.name, after),
      auditId: row.id,
      unknownLibrary: result.unknownLibrary === true,
    };
  }

  /** Writes down that a finding was muted: it is not shown as new for a while. Nothing at a backend changes. */
  async noteMute(what: { cluster: string; object: string; reason: string }, actor: Actor): Promise<void> {
    await this.#end({
      id: randomUUID(),
      atMs: this.#parts.observatory.now(),
      actor: actor.principal.name ?? "anybody",
      role: actor.principal.role,
      address: actor.address,
      action: "mute",
      ...what,
      entry: null,
      before: null,
      after: null,
      dryRun: false,
      outcome: "done",
    });
    this.#parts.onOutcome({ cluster: what.cluster, action: "mute", outcome: "ok" });
  }

  async #deny(row: AuditRow, action: LockAction, error: string, message: string): Promise<ProblemError> {
    this.#count(row, action, "denied");
    await this.#end(row);
    return new ProblemError(403, error, message);
  }

  /** An action that cannot be written down is not done. */
  async #begin(row: AuditRow): Promise<void> {
    try {
      await this.#parts.audit.begin(row);
    } catch (error) {
      await this.#end({ ...row, outcome: "denied" });
      throw new ProblemError(
        503,
        "audit-unavailable",
        `the audit cannot be written, so nothing was done: ${messageOf(error)}`,
      );
    }
  }

  async #perform(row: AuditRow, action: LockAction, act: () => Promise<ActionResult>): Promise<ActionResult> {
    try {
      return await within(act(), answerMs);
    } catch (error) {
      await this.#end({ ...row, outcome: "unknown" });
      this.#count(row, action, "error");
      const happened = row.dryRun ? "" : "; it may or may not have happened, look before you try again";
      throw new ProblemError(503, "outcome-unknown", `${row.cluster}: ${messageOf(error)}${happened}`);
    }
  }

  async #end(row: AuditRow): Promise<void> {
    try {
      await this.#parts.audit.end(row);
    } catch (error) {
      this.#parts.onLostLine(row, error);
    }
  }

  #count({ cluster, dryRun }: AuditRow, action: LockAction, outcome: CountedOutcome): void {
    if (!dryRun) this.#parts.onOutcome({ cluster, action, outcome });
  }
}

function countedAs(outcome: ActionResult["outcome"]): CountedOutcome {
  if (outcome === "conflict") return "conflict";
  return outcome === "done" || outcome === "would-do" ? "ok" : "error";
}
