import { type LockMode, MemorySpace, type Millis, type PrimitiveKind, type Runtime } from "@holdfast/core";

/** One entry of a client, as the server keeps it. */
export interface ServerEntry {
  readonly id: string;
  readonly name: string;
  readonly kind: PrimitiveKind;
  readonly mode: LockMode;
  readonly permits: number;
  readonly limit: number | null;
  readonly permitIds: readonly string[];
  readonly session: string;
  label: string | null;
  readonly sinceMs: Millis;
  readonly leaseMs: Millis;
  readonly keepable: boolean;
  token: bigint | null;
  /** The token of the grant that came before this one. */
  before: bigint | null;
  expiresAtMs: Millis;
  turnCame(before: bigint | null): void;
  removed(): void;
  revokeAsked(): void;
  wanted(): void;
}

export type ClientEntry = Omit<ServerEntry, "turnCame" | "removed" | "revokeAsked" | "wanted">;

/** The server of the simulated backend: queues, and sessions and leases by its own clock. */
export class SimulatedServer {
  readonly space: MemorySpace = new MemorySpace();
  readonly runtime: Runtime;
  readonly #lease: "session" | "ttl";
  readonly #entries = new Map<string, ServerEntry>();
  readonly #sessions = new Map<string, { lastSeenMs: Millis; timeoutMs: Millis }>();
  #sessionCount = 0;

  constructor(runtime: Runtime, lease: "session" | "ttl") {
    this.runtime = runtime;
    this.#lease = lease;
    this.space.rememberGrants();
  }

  openSession(timeoutMs: Millis): string {
    const session = `session-${++this.#sessionCount}`;
    this.#sessions.set(session, { lastSeenMs: this.runtime.nowMs(), timeoutMs });
    this.#watchSession(session);
    return session;
  }

  touch(session: string): boolean {
    const found = this.#sessions.get(session);
    if (found !== undefined) found.lastSeenMs = this.runtime.nowMs();
    return found !== undefined;
  }

  endSession(session: string): void {
    this.#sessions.delete(session);
    const gone = [...this.#entries.values()].filter((entry) => entry.session === session);
    for (const entry of gone) this.#entries.delete(entry.id);
    for (const entry of gone) this.space.drop(entry.name, entry);
    for (const { name } of gone) this.space.serve(name);
  }

  entry(id: string): ServerEntry | undefined {
    return this.#entries.get(id);
  }

  /** Returns `false` when the session is over, or when the lock is taken and the client will not wait. */
  add(entry: ClientEntry, mayWait: boolean, tell: (event: string) => void): boolean {
    if (!this.#sessions.has(entry.session)) return false;
    if (!mayWait) this.space.want(entry.name);
    if (!mayWait && !this.space.admits(entry.name, entry)) return false;
    this.space.add(entry.name, this.#keep(entry, tell));
    return true;
  }

  /** Adds a read beside the write `id`. Returns `false` when that write is not held any more. */
  addBeside(id: string, entry: ClientEntry, tell: (event: string) => void): boolean {
    const write = this.#entries.get(id);
    if (write === undefined || !this.#sessions.has(entry.session)) return false;
    const read = this.#keep(entry, tell);
    if (!this.space.addBeside(entry.name, write, read)) throw new Error("the books of the server disagree");
    if (this.#lease === "ttl") this.#startLease(read);
    return true;
  }

  #keep(entry: ClientEntry, tell: (event: string) => void): ServerEntry {
    const full: ServerEntry = Object.assign(entry, {
      turnCame: (before: bigint | null) => {
        full.before = before;
        if (this.#lease === "ttl") this.#startLease(full);
        tell("granted");
      },
      removed: () => {
        this.#entries.delete(full.id);
        tell("removed");
      },
      revokeAsked: () => tell("revoke"),
      wanted: () => {
        if (full.keepable) tell("wanted");
      },
    });
    this.#entries.set(entry.id, full);
    return full;
  }

  remove(id: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    this.#entries.delete(id);
    return this.space.remove(entry.name, entry);
  }

  relabel(id: string, label: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    entry.label = label;
    this.space.touch(entry.name);
    return true;
  }

  renew(id: string, leaseMs: Millis): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.token === null) return false;
    if (this.#lease === "ttl") entry.expiresAtMs = this.runtime.nowMs() + leaseMs;
    return true;
  }

  #startLease(entry: ServerEntry): void {
    entry.expiresAtMs = this.runtime.nowMs() + entry.leaseMs;
    const look = (): void => {
      if (this.#entries.get(entry.id) !== entry) return;
      const leftMs = entry.expiresAtMs - this.runtime.nowMs();
      if (leftMs <= 0) this.remove(entry.id);
      else this.runtime.setTimer(leftMs, look);
    };
    look();
  }

  #watchSession(session: string): void {
    const found = this.#sessions.get(session);
    if (found === undefined) return;
    const leftMs = found.lastSeenMs + found.timeoutMs - this.runtime.nowMs();
    if (leftMs <= 0) this.endSession(session);
    else this.runtime.setTimer(leftMs, () => this.#watchSession(session));
  }
}
