import type {
  ActionAnswer,
  ActionBody,
  AuditRow,
  ClusterRow,
  FindingRow,
  HistoryRow,
  LockDetail,
  LockRow,
  Participant,
  SessionRow,
} from "../../src/contract/api.js";
import { clustersOf, type Scenario } from "./world/clusters.js";
import { detailOf } from "./world/detail.js";
import { makeFindings } from "./world/findings.js";
import { makeLock } from "./world/locks.js";
import { exact, unknown } from "./world/moments.js";
import { Numbers } from "./world/participants.js";
import { sessionsOf } from "./world/sessions.js";

export type { Scenario } from "./world/clusters.js";

// Locks that no program holds, for work on the page without servers. Everything moves, and some of it is ugly on
// purpose.

export class StubWorld {
  scenario: Scenario = "plain";
  readonly rows: LockRow[] = [];
  readonly queues = new Map<string, Participant[]>();
  readonly history = new Map<string, HistoryRow[]>();
  readonly audit: AuditRow[] = [];
  readonly findings: FindingRow[] = [];
  readonly series: { atMs: number; waiting: number; held: number; grants: number }[] = [];
  readonly #numbers = new Numbers();

  constructor(size: number) {
    const nowMs = Date.now();
    for (let n = 0; n < size; n += 1) {
      const { row, waiters } = makeLock(this.#numbers, n, nowMs);
      this.rows.push(row);
      this.queues.set(row.id, waiters);
      this.history.set(row.id, []);
    }
    for (let n = 120; n > 0; n -= 1) {
      const wave = 150 + 48 * Math.sin(n / 9) + ((n * 7919) % 11);
      this.series.push({
        atMs: nowMs - n * 5000,
        waiting: Math.round(wave),
        held: 40,
        grants: Math.round(60 + 30 * Math.cos(n / 14) + ((n * 31) % 13)),
      });
    }
    this.findings.push(...makeFindings(this.rows, nowMs));
  }

  clusters(): ClusterRow[] {
    return clustersOf(this.rows, this.scenario);
  }

  /** Hands some locks on, as real clients do. Returns the rows that changed. */
  step(): LockRow[] {
    const nowMs = Date.now();
    const changed: LockRow[] = [];
    let grants = 0;
    for (const row of this.rows) {
      row.readMs = this.scenario === "down" && row.backend === "zookeeper" ? row.readMs : nowMs;
      if (row.readMs !== nowMs) continue;
      const queue = this.queues.get(row.id) ?? [];
      if (queue.length === 0 || Math.random() > 0.12 || row.key.endsWith("-2")) continue;
      this.handOver(row, nowMs);
      grants += 1;
      changed.push(row);
    }
    const last = this.series.at(-1);
    if (last !== undefined && nowMs - last.atMs >= 5000) {
      this.series.push({ atMs: nowMs, waiting: this.waiting(), held: 40, grants: 60 + grants * 9 });
      this.series.shift();
    }
    return changed;
  }

  handOver(row: LockRow, nowMs: number): void {
    const queue = this.queues.get(row.id) ?? [];
    const next = queue.shift();
    const [before] = row.holders;
    const log = this.history.get(row.id) ?? [];
    if (before !== undefined) {
      log.unshift({
        atMs: nowMs - 1,
        type: "released",
        entry: before.entry,
        token: before.token,
        heldMs: nowMs - (before.since.atMs ?? nowMs),
      });
      const serial = this.#numbers.next();
      queue.push({
        ...before,
        entry: `${before.entry.slice(0, -10)}${String(serial).padStart(10, "0")}`,
        since: exact(nowMs),
        position: queue.length,
        token: null,
      });
    }
    if (next !== undefined) {
      const serial = this.#numbers.next();
      const token =
        row.backend === "zookeeper"
          ? `0x5000${(serial * 17).toString(16)}`
          : String(1_795_212_000_000_000 + serial);
      const holder = { ...next, position: null, since: exact(nowMs), token };
      log.unshift({ atMs: nowMs, type: "granted", entry: holder.entry, token, heldMs: null });
      row.holders = [holder, ...row.holders.slice(1)];
      row.token = token;
    }
    queue.forEach((each, at) => {
      each.position = at;
    });
    this.history.set(row.id, log.slice(0, 40));
    row.oldestWait = queue[0]?.since ?? unknown;
    row.oldestHold = row.holders[0]?.since ?? unknown;
    row.version = row.holders.map(({ entry }) => entry).join(" ");
  }

  waiting(): number {
    return this.rows.reduce((sum, row) => sum + row.waiterCount, 0);
  }

  detail(row: LockRow): LockDetail {
    return detailOf(row, this.queues.get(row.id) ?? [], this.findings);
  }

  act(row: LockRow, body: ActionBody): { status: number; answer: ActionAnswer } {
    const before = structuredClone(row);
    const auditId = `a${this.audit.length + 1}`;
    const conflict =
      body.expectedVersion !== row.version || (this.scenario === "plain" && body.reason.includes("conflict"));
    const outcome = conflict ? "conflict" : body.dryRun === true ? "would-do" : "done";
    if (conflict || outcome === "done") this.handOver(row, Date.now());
    this.audit.unshift({
      id: auditId,
      atMs: Date.now(),
      actor: "anna",
      role: "admin",
      address: "10.9.8.7",
      action: body.action,
      cluster: row.cluster,
      object: row.key,
      entry: body.entry ?? null,
      before: before.version,
      after: row.version,
      reason: body.reason,
      dryRun: body.dryRun ?? false,
      outcome,
    });
    const effects = this.detail(before).actions.find(({ action }) => action === body.action)?.effects ?? [];
    return {
      status: conflict ? 409 : 200,
      answer: {
        outcome,
        effects: conflict ? [] : effects,
        before: conflict ? structuredClone(row) : before,
        after: outcome === "would-do" ? before : row,
        auditId,
        unknownLibrary: false,
      },
    };
  }

  sessions(): SessionRow[] {
    return sessionsOf(this.rows, this.queues);
  }
}
