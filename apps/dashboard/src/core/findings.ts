import { createHash } from "node:crypto";
import type { Finding, FindingKind } from "@holdfast/core/observe";
import type { FindingRow, Findings } from "../contract/api.js";
import type { NamedCollector } from "./cluster-row.js";
import { lockIdOf, wordOf } from "./lock-id.js";
import { slowHolds, usualLongHoldMs } from "./slow-holds.js";
import { cycleRowOf, locksOf } from "./wait-cycles.js";
import { labelOf } from "./wait-edges.js";
import type { WaitGraph } from "./wait-graph.js";

const mostPast = 200;
/** Between two walks over all locks of a cluster whose collector leaves the ages to us. */
const walkEveryMs = 5_000;
const mostMutes = 1_000;
const weight: Readonly<Record<FindingRow["severity"], number>> = { critical: 0, warning: 1, info: 2 };

type Row = FindingRow & { readonly kind: FindingKind };
type Mute = NonNullable<FindingRow["muted"]>;

/** What is wrong now, in all clusters, and what was. Mutes live as long as the process. */
export class FindingsBoard {
  readonly #clusters: readonly NamedCollector[];
  readonly #graph: WaitGraph;
  readonly #now: () => number;
  readonly #mutes: Map<string, Mute> = new Map();
  readonly #longHoldMs: number;
  #slow: ReadonlyMap<string, readonly Finding[]> = new Map();
  #walkedMs = Number.NEGATIVE_INFINITY;
  #present: Map<string, Row> = new Map();
  /** Newest first. */
  #past: FindingRow[] = [];

  constructor(
    clusters: readonly NamedCollector[],
    graph: WaitGraph,
    now: () => number,
    longHoldMs: number = usualLongHoldMs,
  ) {
    this.#longHoldMs = longHoldMs;
    this.#clusters = clusters;
    this.#graph = graph;
    this.#now = now;
  }

  /** Looks again; whether anything is different. */
  refresh(): boolean {
    const before = this.#present;
    this.#walk();
    const rows: Row[] = [...this.#collected(), ...this.#deadlocks()];
    this.#present = new Map(rows.map((row) => [row.id, row]));
    const gone = [...before.values()].filter(({ id }) => !this.#present.has(id));
    if (gone.length > 0) this.#past = [...gone, ...this.#past].slice(0, mostPast);
    for (const [id, { untilMs }] of this.#mutes) if (untilMs <= this.#now()) this.#mutes.delete(id);
    return (
      gone.length > 0 ||
      rows.some(({ id, evidence, severity }) => {
        const old = before.get(id);
        return old === undefined || old.evidence !== evidence || old.severity !== severity;
      })
    );
  }

  rows(): FindingRow[] {
    return [...this.#present.values()]
      .map((row) => this.#withMute(row))
      .sort((a, b) => weight[a.severity] - weight[b.severity] || a.sinceMs - b.sinceMs);
  }

  /** For whoever counts. */
  *unmuted(): Iterable<{ cluster: string; kind: FindingKind }> {
    for (const row of this.#present.values()) if (this.#withMute(row).muted === null) yield row;
  }

  ofLock(lockId: string): FindingRow[] {
    return this.rows().filter((row) => row.lockId === lockId);
  }

  all(): Findings {
    return { nowMs: this.#now(), rows: this.rows(), past: this.#past.map((row) => this.#withMute(row)) };
  }

  /** `null` when it is not there any more. */
  mute(id: string, mute: Mute): FindingRow | null {
    const row = this.#present.get(id);
    if (row === undefined) return null;
    this.#mutes.delete(id);
    this.#mutes.set(id, mute);
    const [oldest] = this.#mutes.keys();
    if (this.#mutes.size > mostMutes && oldest !== undefined) this.#mutes.delete(oldest);
    return this.#withMute(row);
  }

  #withMute(row: FindingRow): FindingRow {
    const mute = this.#mutes.get(row.id);
    return { ...row, muted: mute !== undefined && mute.untilMs > this.#now() ? { ...mute } : null };
  }

  /** Redis keeps no moment of a grant; what its collector has seen is judged here. ZooKeeper's judges by the ages that it reads. */
  #walk(): void {
    const nowMs = this.#now();
    if (nowMs - this.#walkedMs < walkEveryMs) return;
    this.#walkedMs = nowMs;
    const left = this.#clusters.filter(({ collector }) => collector.backend === "redis");
    this.#slow = new Map(left.map((each) => [each.name, slowHolds(each, this.#longHoldMs, nowMs)]));
  }

  #collected(): Row[] {
    return this.#clusters.flatMap(({ name, collector }) =>
      [...collector.findings(), ...(this.#slow.get(name) ?? [])].map((finding) => ({
        id: wordOf(name, finding.id),
        cluster: name,
        kind: finding.kind,
        severity: finding.severity,
        object: finding.object,
        lockId:
          finding.object !== null && collector.get(finding.object) !== undefined
            ? lockIdOf({ cluster: name, backend: collector.backend, key: finding.object })
            : null,
        sinceMs: finding.sinceMs,
        evidence: finding.evidence,
        advice: finding.advice,
        muted: null,
      })),
    );
  }

  #deadlocks(): Row[] {
    return this.#graph.cycles().map(({ cycle, sinceMs }) => {
      const { certainty, resolvesMs, lockIds } = cycleRowOf(cycle);
      const steps = cycle.ring
        .slice(0, 8)
        .map(({ from, to, lock }) => `${labelOf(from)} waits at ${lock.key} for ${labelOf(to)}`);
      const more = cycle.ring.length - steps.length;
      const likely = certainty === "likely";
      return {
        id: createHash("sha256").update(locksOf(cycle.edges).join()).digest("base64url"),
        cluster: cycle.ring[0]?.cluster ?? "",
        kind: "deadlock-suspected",
        severity: likely ? ("critical" as const) : ("warning" as const),
        object: cycle.ring[0]?.lock.key ?? null,
        lockId: lockIds[0] ?? null,
        sinceMs,
        evidence: `${steps.join("; ")}${more > 0 ? `; and ${more} more` : ""}. ${
          likely
            ? "The same entries stand so in two looks."
            : "Possible only: flows of one process cannot be told apart, or one of several permits would do."
        }`,
        advice:
          resolvesMs === null
            ? "Ask one of them to give up (request revoke), or end the process; forcing a lock free leaves its holder at work."
            : "It ends by itself when the first wait runs out; take the locks in one order everywhere.",
        muted: null,
      };
    });
  }
}
