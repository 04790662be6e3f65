import type { LockFigures, ObservedLock, ObservedLockDetail } from "@holdfast/collectors";
import {
  type ContendedLock,
  cyclesOf,
  edgesOf,
  type WaitCycle,
  type WaitEdge,
  whoIs,
} from "@holdfast/collectors/internal";
import type { Waits } from "../contract/api.js";
import type { NamedCollector } from "./cluster-row.js";
import { Kept } from "./kept.js";
import { lockIdOf } from "./lock-id.js";
import { nextTurn } from "./turns.js";
import { actorIdOf, cycleRowOf } from "./wait-names.js";

/** How long a cycle must have stood, with the same entries at the same locks, before it is reported. */
const standsMs = 2_000;
const mostLocks = 200;
const mostWaiters = 200;
const atOnce = 8;
/** A lock that looks unchanged is read again after this time. */
const trustMs = 30_000;
/** All callers who ask for the picture within this time share one reading. */
const keepMs = 2_000;

interface Snapshot {
  readonly takenMs: number;
  readonly edges: readonly WaitEdge[];
  readonly blind: Waits["blind"];
}

/**
 * The graph of who waits for whom. Only contended locks are read, and those with the longest waits first, because what
 * hangs does not move. A lock is read again only when it looks different.
 */
export class WaitGraph {
  readonly #clusters: readonly NamedCollector[];
  readonly #now: () => number;
  readonly #read: Map<string, { readonly look: string; readonly readMs: number; lock: ObservedLockDetail }> =
    new Map();
  /** The cycles, and when each was first seen. */
  #seen: Map<string, { readonly cycle: WaitCycle; readonly firstMs: number }> = new Map();
  #last: Snapshot | undefined;
  #taking: { readonly minWaitMs: number; readonly snapshot: Promise<Snapshot> } | undefined;
  /** The snapshot of all waits. The look in every second leaves out young waits. */
  readonly #whole: Kept<Snapshot>;

  constructor(clusters: readonly NamedCollector[], now: () => number) {
    this.#clusters = clusters;
    this.#now = now;
    this.#whole = new Kept(() => this.refresh(0), keepMs, now);
  }

  /** The cycles that have stood long enough, and since when. */
  cycles(): { readonly cycle: WaitCycle; readonly sinceMs: number }[] {
    const last = this.#last?.takenMs ?? 0;
    return [...this.#seen.values()]
      .filter(({ firstMs }) => last - firstMs >= standsMs)
      .map(({ cycle, firstMs }) => ({ cycle, sinceMs: firstMs }));
  }

  async picture(): Promise<Waits> {
    const { edges, blind } = await this.#whole.get();
    const actors = new Map<string, Waits["actors"][number] & { readonly blocked: Set<string> }>();
    const actorOf = (edge: WaitEdge, side: "from" | "to"): string => {
      const one = edge[side];
      const actor = actorIdOf({ cluster: edge.cluster, from: one });
      const known = actors.get(actor);
      if (known === undefined)
        actors.set(actor, {
          actor,
          label: whoIs(one),
          cluster: edge.cluster,
          waiters: 0,
          blocked: new Set(),
        });
      return actor;
    };
    const rows = edges.map((edge) => {
      const from = actorOf(edge, "from");
      const to = actorOf(edge, "to");
      actors.get(to)?.blocked.add(`${edge.lock.key}\0${edge.from.entry}`);
      const { cluster, lock } = edge;
      return {
        from,
        to,
        lockId: lockIdOf({ cluster, backend: lock.backend, key: lock.key }),
        key: lock.key,
        cluster,
        deadlineMs: edge.from.deadlineMs,
      };
    });
    return {
      nowMs: this.#now(),
      actors: [...actors.values()]
        .map(({ blocked, ...actor }) => ({ ...actor, waiters: blocked.size }))
        .sort((a, b) => b.waiters - a.waiters),
      edges: rows,
      cycles: this.cycles().map(({ cycle }) => cycleRowOf(cycle)),
      blind: [...blind],
    };
  }

  /**
   * Reads the locks again that have a waiter of at least this age. One reading runs at a time. A call that comes
   * meanwhile shares it, or follows it if that reading leaves out waits which this call wants.
   */
  refresh(minWaitMs: number): Promise<Snapshot> {
    const before = this.#taking;
    if (before !== undefined && before.minWaitMs <= minWaitMs) return before.snapshot;
    const taken = before?.snapshot.then(() => this.#take(minWaitMs)) ?? this.#take(minWaitMs);
    const snapshot: Promise<Snapshot> = taken.finally(() => {
      if (this.#taking?.snapshot === snapshot) this.#taking = undefined;
    });
    this.#taking = { minWaitMs, snapshot };
    return snapshot;
  }

  async #take(minWaitMs: number): Promise<Snapshot> {
    const { chosen, blind } = this.#choose(minWaitMs);
    const nowMs = this.#now();
    const locks: ContendedLock[] = [];
    const kept = new Set<string>();
    const queue = chosen.values();
    // The locks of a cycle that counts as certain are always read anew, because one waiter may have gone and another
    // come while the row looks the same. Those of a possible cycle are not: it may include all contended locks, in
    // ordinary times too.
    const circled = new Set(
      [...this.#seen.values()]
        .filter(({ cycle }) => cycle.certainty === "certain")
        .flatMap(({ cycle }) => cycle.ring.map((edge) => `${edge.cluster}\0${edge.lock.key}`)),
    );
    const work = async (): Promise<void> => {
      for (const { cluster, lock } of queue) {
        const id = `${cluster.name}\0${lock.key}`;
        const look = `${lock.version}\0${lock.waiterCount}\0${lock.holderCount}`;
        const known = this.#read.get(id);
        kept.add(id);
        const ageMs = nowMs - (known?.readMs ?? 0);
        const trusted = ageMs >= 0 && ageMs < trustMs && !circled.has(id);
        if (known !== undefined && known.look === look && trusted) {
          locks.push({ cluster: cluster.name, lock: known.lock });
          continue;
        }
        let read: ObservedLockDetail | undefined | null;
        try {
          read = await cluster.collector.detail(lock.key, { maxWaiters: mostWaiters });
        } catch {
          // The sources of the cluster report why its backend does not answer. Here only one lock is missing.
        }
        if (read === undefined) {
          blind.push({ cluster: cluster.name, message: `${cluster.name} ${lock.key}: could not be read` });
          // A certain cycle stands as long as nothing shows its end. Other readings that are old would make cycles of waits
          // that were never at the same time.
          if (known?.look === look && circled.has(id))
            locks.push({ cluster: cluster.name, lock: known.lock });
        }
        if (!read) continue;
        this.#read.set(id, { look, readMs: nowMs, lock: read });
        locks.push({ cluster: cluster.name, lock: read });
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    for (const id of this.#read.keys()) if (!kept.has(id)) this.#read.delete(id);
    for (const { cluster, lock } of locks) {
      const left = lock.waiterCount - lock.waiters.length;
      if (left > 0 && lock.waiters.length >= mostWaiters)
        blind.push({
          cluster,
          message: `${cluster} ${lock.key}: ${left} of ${lock.waiterCount} waiters are not shown here`,
        });
    }
    // Choosing locks and finding cycles are each as much work as one turn of the event loop should hold.
    await nextTurn();
    const edges = edgesOf(locks);
    const takenMs = this.#now();
    this.#remember(cyclesOf(edges), takenMs);
    this.#last = { takenMs, edges, blind };
    return this.#last;
  }

  #remember(cycles: readonly WaitCycle[], nowMs: number): void {
    this.#seen = new Map(
      cycles.map((cycle) => {
        const firstMs = this.#seen.get(cycle.signature)?.firstMs ?? nowMs;
        // If the clock was set back, the age of the cycle is not known. Then it counts as one that has stood long
        // enough.
        return [cycle.signature, { cycle, firstMs: firstMs > nowMs ? nowMs - standsMs : firstMs }];
      }),
    );
  }

  #choose(minWaitMs: number): {
    chosen: { cluster: NamedCollector; lock: ObservedLock }[];
    blind: Waits["blind"];
  } {
    const nowMs = this.#now();
    const blind: Waits["blind"] = [];
    const found: { cluster: NamedCollector; lock: LockFigures }[] = [];
    for (const cluster of this.#clusters) {
      let unseen = 0;
      for (const lock of cluster.collector.figures("contended")) {
        const waitedMs = nowMs - (lock.oldestWait.atMs ?? 0);
        if (lock.waiterUnit !== "participants") unseen += 1;
        // A wait that begins in the future has an unknown age: the clock was set back, or the servers' clocks are
        // ahead.
        else if (waitedMs < 0 || waitedMs >= minWaitMs) found.push({ cluster, lock });
      }
      if (unseen > 0)
        blind.push({
          cluster: cluster.name,
          message: `${cluster.name}: ${unseen} contended ${unseen === 1 ? "lock" : "locks"} whose waiters leave no name in the backend (plain Redisson locks): not shown here`,
        });
    }
    // Candidates of an election wait as long as its leader lives. So they come behind all waits that may be a deadlock.
    const isElection = ({ lock }: { readonly lock: LockFigures }): number =>
      Number(lock.kind === "leader-election");
    found.sort(
      (a, b) =>
        isElection(a) - isElection(b) || (a.lock.oldestWait.atMs ?? 0) - (b.lock.oldestWait.atMs ?? 0),
    );
    if (found.length > mostLocks)
      blind.push({
        cluster: null,
        message: `${found.length - mostLocks} contended locks that have waited for less long than ${mostLocks} others`,
      });
    const chosen = found.slice(0, mostLocks).flatMap(({ cluster, lock }) => {
      const row = cluster.collector.get(lock.key);
      return row === undefined ? [] : [{ cluster, lock: row }];
    });
    return { chosen, blind };
  }
}
