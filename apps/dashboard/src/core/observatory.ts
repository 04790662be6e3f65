import type { CollectorEvent, ObservedServer, ObservedSession } from "@holdfast/collectors";
import { Warnings } from "@holdfast/collectors/internal";
import { type LastRun, lastRuns } from "@holdfast/schedules";
import type {
  Backends,
  ClusterRow,
  Discoveries,
  LockHistory,
  Locks,
  LocksQuery,
  Overview,
  Schedules,
  SessionDetail,
  Sessions,
  Waits,
} from "../contract/api.js";
import { within } from "./bounded.js";
import { type Census, mergeCensuses, takeCensus } from "./census.js";
import { clusterRowOf, type NamedCollector } from "./cluster-row.js";
import { FindingsBoard } from "./findings.js";
import { HistoryBook } from "./history.js";
import { Kept } from "./kept.js";
import { addressOf } from "./lock-id.js";
import { listLocks } from "./lock-list.js";
import type { Mutes } from "./mutes.js";
import type { OwnFinding } from "./own-findings.js";
import { backendFailed, messageOf, notFound, type ProblemError } from "./problems.js";
import { scheduleRowOf, sessionRowOf } from "./rows.js";
import { pointEveryMs } from "./series.js";
import { Tally } from "./tally.js";
import { nextTurn } from "./turns.js";
import { WaitGraph } from "./wait-graph.js";

const keepMs = 2_000;
const answerMs = 5_000;
const censusMs = 1_000;
const tickMs = 1_000;
/** How many locks of a session are named in its row in a list, and in the row of a single session. */
const namedInList = 20;
const namedInDetail = 1_000;
/** Locks whose oldest wait is shorter are read only when a caller asks for them. */
const suspiciousWaitMs = 2_000;
const lookFailed = "a look at the clusters failed";

/** A change that a viewer may see. */
export type Change =
  | { readonly type: "lock"; readonly cluster: string; readonly key: string }
  | { readonly type: "clusters" }
  | { readonly type: "findings" };

class Watched implements NamedCollector {
  readonly name: string;
  readonly collector: NamedCollector["collector"];
  readonly schedules?: NonNullable<NamedCollector["schedules"]>;
  readonly lastRuns: Kept<ReadonlyMap<string, LastRun | null>> | undefined;
  readonly history: HistoryBook;
  readonly sessions: Kept<readonly ObservedSession[]>;
  readonly servers: Kept<readonly ObservedServer[]>;
  readonly tally: Tally;
  readonly census: Kept<Census>;
  readonly off: () => void;

  constructor(
    { name, collector, schedules }: NamedCollector,
    now: () => number,
    listener: (event: CollectorEvent) => void,
  ) {
    this.name = name;
    this.collector = collector;
    if (schedules !== undefined) {
      this.schedules = schedules;
      this.lastRuns = new Kept(() => within(lastRuns(schedules), answerMs), keepMs, now);
    }
    this.history = new HistoryBook({ sinceMs: now() });
    this.tally = new Tally(now());
    this.sessions = new Kept(() => within(collector.sessions(), answerMs), keepMs, now);
    this.servers = new Kept(() => within(collector.servers(), answerMs), keepMs, now);
    this.census = new Kept(() => takeCensus(this, now()), censusMs, now);
    this.off = collector.onEvent(listener);
  }
}

/** What all collectors know, as questions and answers. It knows nothing of HTTP and does not own the collectors. */
export class Observatory {
  readonly clusters: readonly NamedCollector[];
  readonly graph: WaitGraph;
  readonly findings: FindingsBoard;
  readonly now: () => number;
  readonly #watched: ReadonlyMap<string, Watched>;
  readonly #listeners: Set<(change: Change) => void> = new Set();
  readonly #timer: NodeJS.Timeout;
  readonly #all: Tally;
  /** Warnings are limited here, because a function of the host that throws may throw at each tick. */
  readonly #warnings = new Warnings();
  #pointMs: number;

  constructor(
    clusters: readonly NamedCollector[],
    options: {
      readonly now?: () => number;
      readonly longHoldMs?: number;
      readonly mutes?: Mutes;
      readonly own?: () => readonly OwnFinding[];
    } = {},
  ) {
    this.now = options.now ?? Date.now;
    this.#pointMs = this.now();
    this.#all = new Tally(this.#pointMs);
    this.#watched = new Map(
      clusters.map((cluster) => [
        cluster.name,
        new Watched(cluster, this.now, (event) => this.#heard(cluster.name, event)),
      ]),
    );
    this.clusters = [...this.#watched.values()];
    this.graph = new WaitGraph(this.clusters, this.now);
    this.findings = new FindingsBoard(
      this.clusters,
      this.graph,
      this.now,
      options.longHoldMs,
      options.mutes,
      options.own,
    );
    this.#timer = setInterval(() => this.#warnings.watch(lookFailed, this.#tick()), tickMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    for (const { off } of this.#watched.values()) off();
    this.#listeners.clear();
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  clusterRows(): ClusterRow[] {
    return this.clusters.map(clusterRowOf);
  }

  /** The overview of one cluster, or of all clusters. */
  async overview(only?: string): Promise<Overview> {
    const one = only === undefined ? undefined : this.#cluster(only);
    const counted = one === undefined ? this.#counted() : one.census.get();
    const { held, contended, waiting, oldestWaitAtMs, hot } = await counted;
    const nowMs = this.now();
    const tally = one?.tally ?? this.#all;
    const ours = ({ cluster }: { readonly cluster: string }): boolean =>
      only === undefined || cluster === only;
    return {
      nowMs,
      held,
      contended,
      waiting,
      oldestWaitMs: oldestWaitAtMs === null ? null : Math.max(0, nowMs - oldestWaitAtMs),
      grantsPerSecond: tally.grantsPerSecond,
      lost: tally.losses(nowMs),
      hot,
      clusters: this.clusterRows().filter(({ name }) => ours({ cluster: name })),
      findings: this.findings.rows().filter(ours),
      series: tally.series.points(),
    };
  }

  /** Counts holds that an operator ended by force. */
  forced(cluster: string, holds: number): void {
    const nowMs = this.now();
    this.#all.lost(nowMs, holds);
    this.#cluster(cluster).tally.lost(nowMs, holds);
  }

  locks(query: LocksQuery): Promise<Locks> {
    if (query.cluster !== undefined) this.#cluster(query.cluster);
    return listLocks(this.clusters, query, this.now());
  }

  /** @throws ProblemError when the id belongs to no cluster of ours. */
  locate(id: string): { readonly cluster: NamedCollector; readonly key: string } {
    const address = addressOf(id);
    const cluster = address === null ? undefined : this.#watched.get(address.cluster);
    if (address === null || cluster === undefined || cluster.collector.backend !== address.backend)
      throw notFound("no such lock");
    return { cluster, key: address.key };
  }

  history(id: string): LockHistory {
    const { cluster, key } = this.locate(id);
    return this.#cluster(cluster.name).history.of(key);
  }

  async sessions(cluster?: string): Promise<Sessions> {
    const { found, messages } = await this.#askSessions(cluster);
    const rows = found.map(({ from, session }) => sessionRowOf(from.name, session, namedInList));
    return { nowMs: this.now(), rows, messages: [...messages] };
  }

  /** All sessions that are known, not made into rows yet. */
  async everySession(cluster?: string): Promise<{
    readonly found: readonly { readonly cluster: string; readonly session: ObservedSession }[];
    readonly messages: readonly string[];
  }> {
    const { found, messages } = await this.#askSessions(cluster);
    return { found: found.map(({ from, session }) => ({ cluster: from.name, session })), messages };
  }

  /** @throws ProblemError */
  checkCluster(name: string): void {
    this.#cluster(name);
  }

  async session(id: string, cluster?: string): Promise<SessionDetail> {
    const { found, messages, failures } = await this.#askSessions(cluster);
    const one = found.find(({ session }) => session.id === id);
    // A cluster that could not be read may have it, so its failure goes first.
    if (one === undefined) throw failures[0] ?? notFound(["no such session", ...messages].join("; "));
    const { from, session } = one;
    const held = new Set(session.holds);
    let movedUp = 0;
    for (const { key, waiterCount } of from.collector.figures("contended"))
      if (held.has(key)) movedUp += waiterCount;
    return {
      nowMs: this.now(),
      session: sessionRowOf(from.name, session, namedInDetail),
      released: session.holds.length,
      movedUp,
      messages: [...(await this.#askSessions(from.name)).messages],
    };
  }

  async backends(): Promise<Backends> {
    const clusters = await Promise.all(
      [...this.#watched.values()].map(async (each) => {
        const cluster = clusterRowOf(each);
        try {
          const servers = await each.servers.get();
          return {
            cluster,
            servers: servers.map(({ name, role, reachable, version, facts }) => ({
              name,
              role,
              reachable,
              version,
              facts: facts.map(({ name, value, warning }) => ({ name, value, warning })),
            })),
            message: null,
          };
        } catch (error) {
          return { cluster, servers: [], message: messageOf(error) };
        }
      }),
    );
    return { nowMs: this.now(), clusters };
  }

  async schedules(cluster?: string): Promise<Schedules> {
    const asked = cluster === undefined ? [...this.#watched.values()] : [this.#cluster(cluster)];
    const messages: string[] = [];
    const rows = await Promise.all(
      asked.map(async (each) => {
        try {
          const runs = [...((await each.lastRuns?.get()) ?? [])];
          return runs.map(([name, last]) => scheduleRowOf(each.name, name, last));
        } catch (error) {
          messages.push(`${each.name}: ${messageOf(error)}`);
          return [];
        }
      }),
    );
    return { nowMs: this.now(), rows: rows.flat(), messages };
  }

  waits(): Promise<Waits> {
    return this.graph.picture();
  }

  async discover(cluster: string): Promise<Discoveries> {
    const { collector } = this.#cluster(cluster);
    try {
      const rows = await within(collector.discover(), 30_000);
      return { rows: rows.map(({ root, locks, libraries }) => ({ root, locks, libraries: [...libraries] })) };
    } catch (error) {
      throw backendFailed(cluster, error);
    }
  }

  async #askSessions(cluster: string | undefined): Promise<{
    readonly found: readonly { readonly from: Watched; readonly session: ObservedSession }[];
    readonly messages: readonly string[];
    readonly failures: readonly ProblemError[];
  }> {
    const messages: string[] = [];
    const failures: ProblemError[] = [];
    const asked = cluster === undefined ? [...this.#watched.values()] : [this.#cluster(cluster)];
    const found = await Promise.all(
      asked.map(async (from) => {
        try {
          const sessions = await from.sessions.get();
          const source = from.collector.sources().find((one) => one.source === "sessions");
          if (source?.message != null) messages.push(`${from.name}: ${source.message}`);
          return sessions.map((session) => ({ from, session }));
        } catch (error) {
          messages.push(`${from.name}: ${messageOf(error)}`);
          failures.push(backendFailed(from.name, error));
          return [];
        }
      }),
    );
    return { found: found.flat(), messages, failures };
  }

  #cluster(name: string): Watched {
    const cluster = this.#watched.get(name);
    if (cluster === undefined) throw notFound("no such cluster");
    return cluster;
  }

  async #counted(): Promise<Census> {
    const parts: Census[] = [];
    // One after the other, because two at once would take twice as much of each turn.
    for (const { census } of this.#watched.values()) parts.push(await census.get());
    return mergeCensuses(parts, this.now());
  }

  #heard(cluster: string, event: CollectorEvent): void {
    if (event.type === "status") {
      this.#tell({ type: "clusters" });
      return;
    }
    if (event.type === "granted" || event.type === "released") {
      const watched = this.#watched.get(cluster);
      for (const tally of [this.#all, watched?.tally]) {
        if (event.type === "granted") tally?.granted();
        else if (event.ranOut === true) tally?.lost(this.now());
      }
      watched?.history.add(event);
      return;
    }
    if (event.type === "changed" || event.type === "removed")
      this.#tell({ type: "lock", cluster, key: event.key });
  }

  /**
   * Each walk through all locks has a turn of the event loop of its own, apart from other timers that are due at the
   * same moment.
   */
  async #tick(): Promise<void> {
    await nextTurn();
    if (this.findings.refresh()) this.#tell({ type: "findings" });
    await nextTurn();
    const nowMs = this.now();
    this.#warnings.watch(lookFailed, this.graph.refresh(suspiciousWaitMs));
    const sinceMs = nowMs - this.#pointMs;
    if (sinceMs >= 0 && sinceMs < pointEveryMs) return;
    this.#pointMs = nowMs;
    // The clock was set back: only the next point has a meaningful length.
    if (sinceMs < 0) return;
    for (const watched of this.#watched.values()) {
      const { waiting, held } = await watched.census.get();
      watched.tally.point({ atMs: nowMs, waiting, held }, sinceMs);
    }
    const { waiting, held } = await this.#counted();
    this.#all.point({ atMs: nowMs, waiting, held }, sinceMs);
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }
}
