import type { CollectorEvent, ObservedServer, ObservedSession } from "@holdfast/core/observe";
import type {
  Backends,
  ClusterRow,
  Discoveries,
  LockHistory,
  Locks,
  LocksQuery,
  Overview,
  SessionDetail,
  Sessions,
  Waits,
} from "../contract/api.js";
import { within } from "./bounded.js";
import { type Census, takeCensus } from "./census.js";
import { clusterRowOf, type NamedCollector } from "./cluster-row.js";
import { FindingsBoard } from "./findings.js";
import { HistoryBook } from "./history.js";
import { Kept } from "./kept.js";
import { addressOf } from "./lock-id.js";
import { listLocks } from "./lock-list.js";
import { backendFailed, messageOf, notFound } from "./problems.js";
import { sessionRowOf } from "./rows.js";
import { pointEveryMs, Series } from "./series.js";
import { WaitGraph } from "./wait-graph.js";
import { WarmUp } from "./warm-up.js";

const keepMs = 2_000;
const answerMs = 5_000;
const censusMs = 1_000;
const tickMs = 1_000;
/** What has waited for less long is not looked at unasked. */
const suspiciousWaitMs = 2_000;

/** Something that a viewer may see has changed. */
export type Change =
  | { readonly type: "lock"; readonly cluster: string; readonly key: string }
  | { readonly type: "clusters" }
  | { readonly type: "findings" };

class Watched implements NamedCollector {
  readonly name: string;
  readonly collector: NamedCollector["collector"];
  readonly history: HistoryBook;
  readonly sessions: Kept<readonly ObservedSession[]>;
  readonly servers: Kept<readonly ObservedServer[]>;
  readonly off: () => void;

  constructor(
    { name, collector }: NamedCollector,
    now: () => number,
    listener: (event: CollectorEvent) => void,
  ) {
    this.name = name;
    this.collector = collector;
    this.history = new HistoryBook({ sinceMs: now() });
    this.sessions = new Kept(() => within(collector.sessions(), answerMs), keepMs, now);
    this.servers = new Kept(() => within(collector.servers(), answerMs), keepMs, now);
    this.off = collector.onEvent(listener);
  }
}

/** What all collectors know, as questions and answers. Knows nothing of HTTP. Does not own the collectors. */
export class Observatory {
  readonly clusters: readonly NamedCollector[];
  readonly graph: WaitGraph;
  readonly findings: FindingsBoard;
  readonly now: () => number;
  readonly #watched: ReadonlyMap<string, Watched>;
  readonly #listeners: Set<(change: Change) => void> = new Set();
  readonly #series: Series = new Series();
  readonly #timer: NodeJS.Timeout;
  readonly #warmUp: WarmUp;
  #census: Census | undefined;
  #grants = 0;
  #grantsAtPoint = 0;
  #pointMs: number;
  #grantsPerSecond = 0;

  constructor(
    clusters: readonly NamedCollector[],
    options: { readonly now?: () => number; readonly longHoldMs?: number } = {},
  ) {
    this.now = options.now ?? Date.now;
    this.#pointMs = this.now();
    this.#watched = new Map(
      clusters.map((cluster) => [
        cluster.name,
        new Watched(cluster, this.now, (event) => this.#heard(cluster.name, event)),
      ]),
    );
    this.clusters = [...this.#watched.values()];
    this.#warmUp = new WarmUp(this.clusters);
    this.graph = new WaitGraph(this.clusters, this.now);
    this.findings = new FindingsBoard(this.clusters, this.graph, this.now, options.longHoldMs);
    this.#timer = setInterval(() => this.#tick(), tickMs);
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

  overview(): Overview {
    const { held, contended, waiting, oldestWaitAtMs, hot } = this.#counted();
    const nowMs = this.now();
    return {
      nowMs,
      held,
      contended,
      waiting,
      oldestWaitMs: oldestWaitAtMs === null ? null : Math.max(0, nowMs - oldestWaitAtMs),
      grantsPerSecond: this.#grantsPerSecond,
      hot,
      clusters: this.clusterRows(),
      findings: this.findings.rows(),
      series: this.#series.points(),
    };
  }

  locks(query: LocksQuery): Promise<Locks> {
    if (query.cluster !== undefined) this.#cluster(query.cluster);
    return listLocks(this.clusters, query, this.now());
  }

  /** @throws ProblemError when the id names nothing of ours. */
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
    const messages: string[] = [];
    const asked = cluster === undefined ? [...this.#watched.values()] : [this.#cluster(cluster)];
    const rows = await Promise.all(
      asked.map(async (each) => {
        try {
          return (await each.sessions.get()).map((session) => sessionRowOf(each.name, session));
        } catch (error) {
          messages.push(`${each.name}: ${messageOf(error)}`);
          return [];
        }
      }),
    );
    return { nowMs: this.now(), rows: rows.flat(), messages };
  }

  async session(id: string, cluster?: string): Promise<SessionDetail> {
    const { rows, messages } = await this.sessions(cluster);
    const session = rows.find((row) => row.id === id);
    if (session === undefined) throw notFound(["no such session", ...messages].join("; "));
    const { collector } = this.#cluster(session.cluster);
    const held = session.holds.flatMap(({ key }) => collector.get(key) ?? []);
    return {
      nowMs: this.now(),
      session,
      released: session.holds.length,
      movedUp: held.reduce((sum, { waiterCount }) => sum + waiterCount, 0),
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

  waits(): Promise<Waits> {
    return this.graph.picture(keepMs);
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

  #cluster(name: string): Watched {
    const cluster = this.#watched.get(name);
    if (cluster === undefined) throw notFound("no such cluster");
    return cluster;
  }

  #counted(): Census {
    const nowMs = this.now();
    if (this.#census === undefined || nowMs - this.#census.takenMs >= censusMs)
      this.#census = takeCensus(this.clusters, nowMs);
    return this.#census;
  }

  #heard(cluster: string, event: CollectorEvent): void {
    if (event.type === "status") {
      this.#tell({ type: "clusters" });
      return;
    }
    if (event.type === "granted" || event.type === "released") {
      if (event.type === "granted") this.#grants += 1;
      this.#watched.get(cluster)?.history.add(event);
      return;
    }
    if (event.type === "changed" || event.type === "removed")
      this.#tell({ type: "lock", cluster, key: event.key });
  }

  #tick(): void {
    if (this.#warmUp.busy()) return;
    if (this.findings.refresh()) this.#tell({ type: "findings" });
    const nowMs = this.now();
    // Its reads fail one by one and say so; nothing is left to reject.
    void this.graph.refresh(suspiciousWaitMs);
    const sinceMs = nowMs - this.#pointMs;
    if (sinceMs < pointEveryMs) return;
    const grants = this.#grants - this.#grantsAtPoint;
    this.#grantsPerSecond = (grants * 1_000) / sinceMs;
    this.#grantsAtPoint = this.#grants;
    this.#pointMs = nowMs;
    const { waiting, held } = this.#counted();
    this.#series.add({ atMs: nowMs, waiting, held, grants });
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }
}
