import type {
  CollectorEvent,
  LockCollector,
  LockFigures,
  Moment,
  ObservedLock,
  ObservedServer,
  ObservedSession,
  SourceStatus,
} from "@holdfast/collectors";

export const unknownMoment: Moment = { atMs: null, provenance: "unknown" };

export function ago(ms: number, provenance: "exact" | "at-least" = "exact"): Moment {
  return { atMs: Date.now() - ms, provenance };
}

export function observedLock(key: string, more: Partial<ObservedLock> = {}): ObservedLock {
  return {
    key,
    backend: "zookeeper",
    kind: "mutex",
    libraries: ["curator"],
    state: "held",
    holders: [],
    holderCount: 1,
    waiterCount: 0,
    waiterUnit: "participants",
    oldestWait: unknownMoment,
    oldestHold: unknownMoment,
    token: null,
    limit: null,
    version: "1",
    readMs: Date.now(),
    denied: null,
    ...more,
  };
}

/** The members of a collector that the exporter reads, set by the test. */
export class ScrapedCollector {
  readonly backend: LockCollector["backend"];
  all: ObservedLock[] = [];
  statuses: SourceStatus[] = [];
  serversNow: () => Promise<readonly ObservedServer[]> = async () => [];
  sessionsNow: () => Promise<readonly ObservedSession[]> = async () => [];
  readonly listeners = new Set<(event: CollectorEvent) => void>();

  constructor(backend: LockCollector["backend"]) {
    this.backend = backend;
  }

  get collector(): LockCollector {
    return this as unknown as LockCollector;
  }

  tell(...events: CollectorEvent[]): void {
    for (const event of events) for (const listener of this.listeners) listener(event);
  }

  locks(): Iterable<ObservedLock> {
    return this.all;
  }

  figures(): Iterable<LockFigures> {
    return this.all;
  }

  sources(): readonly SourceStatus[] {
    return this.statuses;
  }

  servers(): Promise<readonly ObservedServer[]> {
    return this.serversNow();
  }

  sessions(): Promise<readonly ObservedSession[]> {
    return this.sessionsNow();
  }

  onEvent(listener: (event: CollectorEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

export function source(
  name: string,
  state: SourceStatus["state"],
  lastSuccessMs: number | null = null,
): SourceStatus {
  return { source: name, state, coverage: 0.5, lastSuccessMs, nextTryMs: null, cost: null, message: null };
}
