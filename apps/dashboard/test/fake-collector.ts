import type {
  ActionOffer,
  ActionRequest,
  ActionResult,
  ActionTrial,
  CollectorEvent,
  Discovery,
  Finding,
  LockCollector,
  LockFigures,
  ObservedLock,
  ObservedLockDetail,
  ObservedParticipant,
  ObservedServer,
  ObservedSession,
  SessionContact,
  SourceStatus,
} from "@holdfast/collectors";

/** A collector without a backend. It shows what a test has put into it. */
export class FakeCollector implements LockCollector {
  readonly backend: "zookeeper" | "redis";
  readonly details: Map<string, ObservedLockDetail> = new Map();
  readonly asked: ActionRequest[] = [];
  /** The keys that are attended to at present. */
  attended: readonly string[] = [];
  detailReads = 0;
  sourceList: SourceStatus[] = [
    {
      source: "watch /locks",
      state: "ok",
      coverage: 1,
      lastSuccessMs: 1_000,
      nextTryMs: null,
      cost: null,
      message: null,
    },
  ];
  sessionList: ObservedSession[] = [];
  contactList: SessionContact[] = [];
  serverList: ObservedServer[] = [];
  findingList: Finding[] = [];
  discoveryList: Discovery[] = [];
  /** The holds that a forced release ends; by default the named one, or all. */
  ends: (request: ActionRequest, before: ObservedLock) => readonly string[] = ({ entry }, { holders }) =>
    entry === null ? holders.map((each) => each.entry) : [entry];
  /** If set, every request to the backend fails with this error. */
  failure: Error | null = null;
  closed = false;
  readonly #listeners: Set<(event: CollectorEvent) => void> = new Set();

  constructor(backend: "zookeeper" | "redis" = "zookeeper") {
    this.backend = backend;
  }

  get size(): number {
    return this.details.size;
  }

  /** Adds or changes a lock, and emits the event. */
  put(lock: Partial<ObservedLockDetail> & { key: string }): ObservedLockDetail {
    // Counts, state and version are derived again from the new holders and waiters.
    const { state, holderCount, waiterCount, version, ...before } =
      this.details.get(lock.key) ?? fakeLock(lock);
    const detail = fakeLock({ ...before, backend: this.backend, ...lock });
    this.details.set(lock.key, detail);
    this.emit({ type: "changed", key: lock.key });
    return detail;
  }

  remove(key: string): void {
    this.details.delete(key);
    this.emit({ type: "removed", key });
  }

  emit(event: CollectorEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  sources(): readonly SourceStatus[] {
    return this.sourceList;
  }

  locks(): Iterable<ObservedLock> {
    return this.details.values();
  }

  figures(which: "all" | "contended" = "all"): Iterable<LockFigures> {
    if (which === "all") return this.locks();
    return [...this.locks()].filter(({ state }) => state === "contended");
  }

  get(key: string): ObservedLock | undefined {
    return this.details.get(key);
  }

  isHeldBy(key: string, text: string): boolean {
    return this.details.get(key)?.holders.some((one) => JSON.stringify(one).includes(text)) === true;
  }

  async detail(key: string, { maxWaiters }: { maxWaiters: number }): Promise<ObservedLockDetail | null> {
    this.detailReads += 1;
    this.#fail();
    const found = this.details.get(key);
    return found === undefined ? null : { ...found, waiters: found.waiters.slice(0, maxWaiters) };
  }

  attend(keys: readonly string[]): { update(keys: readonly string[]): void; end(): void } {
    this.attended = keys;
    return {
      update: (next) => {
        this.attended = next;
      },
      end: () => {
        this.attended = [];
      },
    };
  }

  onEvent(listener: (event: CollectorEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async sessions(): Promise<readonly ObservedSession[]> {
    this.#fail();
    return this.sessionList;
  }

  async contacts(ids: readonly string[]): Promise<readonly SessionContact[]> {
    this.#fail();
    return this.contactList.filter(({ id }) => ids.includes(id));
  }

  async servers(): Promise<readonly ObservedServer[]> {
    this.#fail();
    return this.serverList;
  }

  findings(): readonly Finding[] {
    return this.findingList;
  }

  async discover(): Promise<readonly Discovery[]> {
    this.#fail();
    return this.discoveryList;
  }

  tryOut(
    { key, version }: ObservedLockDetail,
    acts: readonly ActionOffer[],
    _signal?: AbortSignal,
  ): Promise<readonly ActionTrial[]> {
    return Promise.all(acts.map((one) => this.act({ ...one, key, expectedVersion: version, dryRun: true })));
  }

  async act(request: ActionRequest): Promise<ActionResult> {
    this.asked.push(request);
    this.#fail();
    const before = this.details.get(request.key) ?? null;
    if (before === null) return { outcome: "nothing-there", effects: [], before, after: null };
    if (before.version !== request.expectedVersion)
      return { outcome: "conflict", effects: [], before, after: before };
    const effects = [`${request.action} reaches ${request.entry ?? "the lock"}.`];
    if (request.dryRun) return { outcome: "would-do", effects, before, after: before };
    const endedHolds = request.action === "force-release" ? this.ends(request, before) : [];
    const after = this.put({ key: request.key, holders: [], holderCount: 0, state: "idle", version: "none" });
    return { outcome: "done", effects, before, after, endedHolds };
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  #fail(): void {
    if (this.failure !== null) throw this.failure;
  }
}

export function fakeParticipant(one: Partial<ObservedParticipant> & { entry: string }): ObservedParticipant {
  return {
    actor: one.entry,
    session: one.entry,
    identity: null,
    mayBeKept: false,
    address: "10.0.0.1:4000",
    data: null,
    mode: "exclusive",
    permits: 1,
    position: null,
    since: { atMs: null, provenance: "unknown" },
    holdCount: null,
    remainingMs: null,
    lease: "session",
    deadlineMs: null,
    token: null,
    library: "curator",
    ...one,
  };
}

/** Counts and state are derived from the holders and waiters unless they are given. */
export function fakeLock(lock: Partial<ObservedLockDetail> & { key: string }): ObservedLockDetail {
  const holders = lock.holders ?? [];
  const waiters = lock.waiters ?? [];
  const state = waiters.length > 0 ? "contended" : holders.length > 0 ? "held" : "idle";
  return {
    backend: "zookeeper",
    kind: "mutex",
    libraries: ["curator"],
    state,
    waiterUnit: "participants",
    oldestWait: { atMs: null, provenance: "unknown" },
    oldestHold: { atMs: null, provenance: "unknown" },
    token: null,
    limit: null,
    version: holders.map(({ entry }) => entry).join() || "none",
    readMs: 1_000,
    denied: null,
    raw: [],
    explain: [],
    ...lock,
    holders,
    waiters,
    holderCount: lock.holderCount ?? holders.length,
    waiterCount: lock.waiterCount ?? waiters.length,
  };
}
