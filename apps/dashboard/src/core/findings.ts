import { createHash } from "node:crypto";
import type { Finding } from "@holdfast/collectors";
import { slowHolds, usualLongHoldMs, type WaitEdge, whoIs } from "@holdfast/collectors/internal";
import type { FindingRow, Findings } from "../contract/api.js";
import type { NamedCollector } from "./cluster-row.js";
import { lockIdOf, wordOf } from "./lock-id.js";
import { type Mute, Mutes } from "./mutes.js";
import { type AnyFindingKind, type OwnFinding, ownFindingRow } from "./own-findings.js";
import type { WaitGraph } from "./wait-graph.js";
import { cycleRowOf, lockIdsOf } from "./wait-names.js";

const mostPast = 200;
/**
 * Milliseconds between two walks over all locks of a cluster whose collector does not judge the ages of holds itself.
 */
const walkEveryMs = 5_000;
const weight: Readonly<Record<FindingRow["severity"], number>> = { critical: 0, warning: 1, info: 2 };

type Row = FindingRow & { readonly kind: AnyFindingKind };

/** What is wrong now in all clusters, and what was wrong before. */
export class FindingsBoard {
  readonly #clusters: readonly NamedCollector[];
  readonly #graph: WaitGraph;
  readonly #now: () => number;
  readonly #mutes: Mutes;
  readonly #longHoldMs: number;
  readonly #own: () => readonly OwnFinding[];
  #slow: ReadonlyMap<string, readonly Finding[]> = new Map();
  #walkedMs = Number.NEGATIVE_INFINITY;
  /** The findings that were muted at the last `refresh`. */
  #muted = "";
  #present: Map<string, Row> = new Map();
  /** Newest first. */
  #past: FindingRow[] = [];

  constructor(
    clusters: readonly NamedCollector[],
    graph: WaitGraph,
    now: () => number,
    longHoldMs: number = usualLongHoldMs,
    mutes: Mutes = new Mutes({ now }),
    own: () => readonly OwnFinding[] = () => [],
  ) {
    this.#own = own;
    this.#mutes = mutes;
    this.#longHoldMs = longHoldMs;
    this.#clusters = clusters;
    this.#graph = graph;
    this.#now = now;
  }

  /** Looks again. Returns whether anything has changed. */
  refresh(): boolean {
    const before = this.#present;
    this.#walk();
    const rows: Row[] = [...this.#own().map(ownFindingRow), ...this.#collected(), ...this.#deadlocks()];
    this.#present = new Map(rows.map((row) => [row.id, row]));
    const gone = [...before.values()].filter(({ id }) => !this.#present.has(id));
    // A mute that was set or has ended changes what an open page shows.
    const muted = rows.flatMap(({ id }) => (this.#mutes.of(id) === null ? [] : [id])).join("\n");
    const otherMutes = muted !== this.#muted;
    this.#muted = muted;
    if (gone.length > 0) this.#past = [...gone, ...this.#past].slice(0, mostPast);
    return (
      otherMutes ||
      gone.length > 0 ||
      rows.some(({ id, evidence, severity }) => {
        const old = before.get(id);
        return old === undefined || old.evidence !== evidence || old.severity !== severity;
      })
    );
  }

  rows(): FindingRow[] {
    return this.#sorted();
  }

  #sorted(): Row[] {
    return [...this.#present.values()]
      .map((row) => this.#withMute(row))
      .sort((a, b) => weight[a.severity] - weight[b.severity] || a.sinceMs - b.sinceMs);
  }

  /** The most severe finding first. */
  unmuted(): readonly Row[] {
    return this.#sorted().filter(({ muted }) => muted === null);
  }

  ofLock(lockId: string): FindingRow[] {
    return this.rows().filter((row) => row.lockId === lockId);
  }

  all(): Findings {
    return { nowMs: this.#now(), rows: this.rows(), past: this.#past.map((row) => this.#withMute(row)) };
  }

  /** `null` if the finding is not there any more. Rejects if the mute cannot be written down. */
  async mute(id: string, mute: Mute): Promise<FindingRow | null> {
    const row = this.#present.get(id);
    if (row === undefined) return null;
    await this.#mutes.set(id, mute);
    return this.#withMute(row);
  }

  #withMute<R extends FindingRow>(row: R): R {
    return { ...row, muted: this.#mutes.of(row.id) };
  }

  /**
   * Redis keeps no moment of a grant, so the holds of its collector are judged here, by what the collector has seen.
   * The collector of ZooKeeper judges by the ages that it reads.
   */
  #walk(): void {
    const nowMs = this.#now();
    // It also walks if the clock was set back.
    if (nowMs >= this.#walkedMs && nowMs - this.#walkedMs < walkEveryMs) return;
    this.#walkedMs = nowMs;
    const left = this.#clusters.filter(({ collector }) => collector.backend === "redis");
    this.#slow = new Map(left.map((each) => [each.name, slowHolds(each.collector, this.#longHoldMs)]));
  }

  #collected(): Row[] {
    return this.#clusters.flatMap(({ name, collector }) =>
      [...collector.findings(), ...(this.#slow.get(name) ?? [])].map((finding) => {
        const id = wordOf(name, finding.id);
        return {
          id,
          cluster: name,
          kind: finding.kind,
          severity: finding.severity,
          object: finding.object,
          // Each look-up of a lock makes a row, and hundreds of them each second would be too many. So the earlier id
          // is used if there is one.
          lockId: this.#present.get(id)?.lockId ?? lockIdOfObject(name, collector, finding.object),
          sinceMs: finding.sinceMs,
          evidence: finding.evidence,
          advice: finding.advice,
          muted: null,
        };
      }),
    );
  }

  #deadlocks(): Row[] {
    return this.#graph.cycles().map(({ cycle, sinceMs }) => {
      const { certainty, resolvesMs, lockIds } = cycleRowOf(cycle);
      const steps = cycle.ring
        .slice(0, 8)
        .map(({ from, to, lock }) => `${whoIs(from)} waits for ${lock.key}, held by ${whoIs(to)}`);
      const more = cycle.ring.length - steps.length;
      const certain = certainty === "certain";
      return {
        id: createHash("sha256").update(lockIdsOf(cycle.edges).join()).digest("base64url"),
        cluster: cycle.ring[0]?.cluster ?? "",
        kind: "deadlock-suspected",
        severity: certain ? ("critical" as const) : ("warning" as const),
        object: cycle.ring[0]?.lock.key ?? null,
        lockId: lockIds[0] ?? null,
        sinceMs,
        evidence: `${steps.join("; ")}${more > 0 ? `; and ${more} more` : ""}. ${
          certain
            ? "Certain: each of them is one thread, which does nothing else while it waits, and two looks have seen the same."
            : possibleOnly(cycle.ring)
        }`,
        advice:
          resolvesMs === null
            ? "Ask one of the holders to release, or end its process: a forced release leaves the holder at work."
            : "It ends by itself when the first wait runs out. Take the locks in the same order everywhere.",
        muted: null,
      };
    });
  }
}

/** Why the cycle may be no deadlock. */
function possibleOnly(ring: readonly WaitEdge[]): string {
  const why = new Set(
    ring.map(({ lock, from, to }) => {
      if (lock.kind === "semaphore" || lock.kind === "permit-semaphore")
        return "one of several permits would do";
      return from.session !== null && from.session === to.session
        ? "threads and tasks of one process look the same, and those that hold need not be those that wait"
        : "the holder may be another thread or task of its process than the one that waits, and go on";
    }),
  );
  return `Possible only: ${[...why].join("; ")}.`;
}

/** `null` if the object of the finding is no lock. */
function lockIdOfObject(
  cluster: string,
  collector: NamedCollector["collector"],
  key: string | null,
): string | null {
  if (key === null || collector.get(key) === undefined) return null;
  return lockIdOf({ cluster, backend: collector.backend, key });
}
