import type { Capabilities, PrimitiveKind } from "../api/capabilities.js";
import type { Grant, GrantChange, GrantRequest, LockDriver, Ticket, TicketProgress } from "../api/driver.js";
import { BackendError, EvictedError } from "../api/errors.js";
import type { InspectOptions, LockSnapshot, ParticipantInfo } from "../api/inspect.js";
import type { Runtime } from "../api/runtime.js";
import type { FencingToken, Millis } from "../api/values.js";
import type { MemoryLink } from "./memory-link.js";
import type { MemoryEntry, MemorySpace } from "./memory-space.js";

const foreverMs: Millis = Number.MAX_SAFE_INTEGER;

/** Whoever holds one of these kinds excludes the others on the name. */
const kinds: readonly PrimitiveKind[] = ["mutex", "reentrant-mutex"];

export class MemoryDriver implements LockDriver {
  readonly capabilities: Capabilities = {
    backend: "memory",
    lease: "process",
    fencing: "best-effort",
    fairness: "fifo",
    push: true,
    primitives: new Set(kinds),
  };

  readonly #space: MemorySpace;
  readonly #link: MemoryLink;
  readonly #runtime: Runtime;
  /** Every place of ours in any queue, to find again when the session ends. */
  readonly #places: Set<Place> = new Set();
  readonly #world: World;

  constructor(space: MemorySpace, link: MemoryLink, runtime: Runtime) {
    this.#space = space;
    this.#link = link;
    this.#runtime = runtime;
    this.#world = { space, link, runtime, places: this.#places };
    link.listen({
      contact: (change) => {
        for (const place of [...this.#places]) place.tell({ type: change });
      },
      sessionEnded: (session) => {
        for (const place of [...this.#places]) place.sessionEnded();
        this.#space.removeSession(session);
      },
      sessionBegan: () => {
        for (const place of [...this.#places]) place.enterAgain();
      },
    });
  }

  request(request: GrantRequest, progress: TicketProgress): Ticket {
    if (this.#link.state !== "connected") {
      const error = new BackendError("memory: not connected", { lockName: request.name, backend: "memory" });
      return { granted: Promise.reject(error), cancel: () => done };
    }
    if (!request.mayWait && this.#space.queue(request.name).length > 0) {
      return { granted: Promise.resolve(null), cancel: () => done };
    }
    return new Place(this.#world, request, progress);
  }

  async requestRevoke(_kind: PrimitiveKind, name: string): Promise<boolean> {
    const [holder] = this.#space.queue(name);
    holder?.revokeAsked();
    return holder !== undefined;
  }

  async inspect(_kind: PrimitiveKind, name: string, options: InspectOptions): Promise<LockSnapshot> {
    const [holder, ...pending] = this.#space.queue(name);
    const nowMs = this.#runtime.nowMs();
    const shown = pending.slice(0, options.maxPending ?? pending.length);
    return {
      name,
      takenAt: new Date(this.#runtime.wallMs()),
      kind: holder === undefined ? null : "mutex",
      held:
        holder === undefined
          ? []
          : [
              {
                ...participant(holder, nowMs),
                token: holder.token,
                holdCount: 1,
                heldByThisProvider: false,
                remainingMs: null,
              },
            ],
      pending: shown.map((entry, position) => ({ ...participant(entry, nowMs), position })),
      pendingTotal: pending.length,
    };
  }

  async close(): Promise<void> {
    this.#link.close();
    this.#space.removeSession(this.#link.session);
    this.#places.clear();
  }
}

function participant(entry: MemoryEntry, nowMs: Millis): ParticipantInfo {
  return {
    owner: null,
    label: entry.label,
    mode: "exclusive",
    backendId: entry.id,
    session: entry.session,
    address: null,
    recognisedAs: "holdfast",
    sinceMs: { value: nowMs - entry.sinceMs, provenance: "exact" },
  };
}

/** A request, its place in the queue, and its grant. */
class Place implements Ticket, Grant, MemoryEntry {
  granted: Promise<Grant | null>;
  readonly id: string;
  readonly label: string | null;
  readonly sinceMs: Millis;
  readonly backendId: string;
  readonly permitIds: readonly string[] = noPermits;
  readonly roundTrips = 0;
  readonly contended: boolean;
  token: FencingToken | null = null;
  session: string;

  readonly #world: World;
  readonly #name: string;
  readonly #revocable: boolean;
  readonly #progress: TicketProgress;
  #settle: { resolve: (grant: Grant) => void; reject: (error: unknown) => void } | undefined;
  #listener: ((change: GrantChange) => void) | undefined;
  #state: "waiting" | "between-sessions" | "held" | "over" = "waiting";
  #revokeAsked = false;

  constructor(world: World, request: GrantRequest, progress: TicketProgress) {
    const { space, link, places } = world;
    this.#world = world;
    this.#name = request.name;
    this.#revocable = request.revocable;
    this.#progress = progress;
    this.id = space.nextId();
    this.backendId = this.id;
    this.label = request.label;
    this.sinceMs = world.runtime.nowMs();
    this.session = link.session;
    this.contended = space.queue(request.name).length > 0;
    places.add(this);
    space.add(request.name, this);
    this.granted =
      this.token === null
        ? new Promise((resolve, reject) => {
            this.#settle = { resolve, reject };
          })
        : Promise.resolve<Grant>(this);
  }

  // -------- the space tells

  turnCame(): void {
    this.#state = "held";
    if (this.#settle === undefined) return;
    this.#progress.notified();
    this.#settle.resolve(this);
  }

  removed(): void {
    const waited = this.#state === "waiting";
    this.#end();
    if (!waited) {
      this.tell({ type: "lost", reason: "stolen" });
      return;
    }
    this.#settle?.reject(
      new EvictedError(`the queue entry for "${this.#name}" was removed by somebody`, {
        lockName: this.#name,
        backend: "memory",
      }),
    );
  }

  revokeAsked(): void {
    this.#revokeAsked = true;
    if (this.#revocable) this.tell({ type: "revoke-requested" });
  }

  // -------- the session tells

  sessionEnded(): void {
    if (this.#state === "held") {
      this.#end();
      this.tell({ type: "lost", reason: "session-expired" });
    } else if (this.#state === "waiting") {
      this.#state = "between-sessions";
    }
  }

  enterAgain(): void {
    if (this.#state !== "between-sessions") return;
    this.#state = "waiting";
    this.session = this.#world.link.session;
    this.#progress.requeued("session-lost");
    this.#world.space.add(this.#name, this);
  }

  tell(change: GrantChange): void {
    this.#listener?.(change);
  }

  // -------- the ticket and the grant

  cancel(): Promise<void> {
    if (this.#state === "over") return done;
    if (this.#world.link.state === "connected") {
      this.#leave();
      return done;
    }
    return this.#world.link.whenUp().then(() => {
      this.#leave();
    });
  }

  release(): Promise<boolean> {
    if (this.#state === "over") return Promise.resolve(false);
    if (this.#world.link.state === "connected") return Promise.resolve(this.#leave());
    return this.#world.link.whenUp().then(() => this.#leave());
  }

  validUntilMs(): Millis {
    return foreverMs;
  }

  renew(): Promise<Millis | null> {
    if (this.#world.link.state === "connected")
      return Promise.resolve(this.#state === "held" ? foreverMs : null);
    return this.#world.link.whenUp().then(() => (this.#state === "held" ? foreverMs : null));
  }

  onState(listener: (change: GrantChange) => void): void {
    this.#listener = listener;
    if (this.#world.link.state !== "connected") listener({ type: "uncertain" });
    if (this.#revokeAsked && this.#revocable) listener({ type: "revoke-requested" });
  }

  #leave(): boolean {
    if (this.#state === "over") return false;
    this.#end();
    return this.#world.space.remove(this.#name, this);
  }

  #end(): void {
    this.#state = "over";
    this.#world.places.delete(this);
  }
}

/** What a place shares with all others of its provider. */
interface World {
  readonly space: MemorySpace;
  readonly link: MemoryLink;
  readonly runtime: Runtime;
  readonly places: Set<Place>;
}

const done: Promise<void> = Promise.resolve();
const noPermits: readonly string[] = [];
