import {
  BackendError,
  type Capabilities,
  EvictedError,
  type InspectOptions,
  LockLostError,
  type LockProvider,
  type LockSnapshot,
  type Millis,
  type ProviderOptions,
} from "@holdfast/core";
import type {
  Attempt,
  AttemptListener,
  Grant,
  GrantPlace,
  GrantRequest,
  GrantState,
  KeepingState,
  LockDriver,
} from "@holdfast/core/driver";
import { DriverProvider, EventHub, resolveProviderOptions } from "@holdfast/core/internal";
import { SimulatedLink } from "./simulated-link.js";
import type { ClientEntry, SimulatedServer } from "./simulated-server.js";

const outage = () => new BackendError("the connection ended before the answer", { backend: "memory" });

/** A driver with sessions or leases over a slow link that can break. The memory backend has no such link. */
export class SimulatedDriver implements LockDriver {
  readonly capabilities: Capabilities;
  readonly server: SimulatedServer;
  readonly link: SimulatedLink;
  readonly places = new Set<Place>();
  readonly lease: "session" | "ttl";
  readonly keeps: boolean;
  readonly #watchers = new Set<() => void>();

  constructor(server: SimulatedServer, link: SimulatedLink, lease: "session" | "ttl") {
    this.server = server;
    this.link = link;
    this.lease = lease;
    this.keeps = lease === "session";
    this.capabilities = {
      backend: "memory",
      lease,
      fencing: "durable",
      fairness: "fifo",
      push: true,
      primitives: new Set([
        "mutex",
        "reentrant-mutex",
        "read-write-lock",
        "reentrant-read-write-lock",
        "semaphore",
        "leader-election",
      ]),
    };
    link.onDown = () => {
      for (const place of [...this.places]) place.state?.uncertain();
    };
    link.onSessionLost = () => {
      for (const place of [...this.places]) place.sessionLost();
    };
    link.onConnected = () => {
      for (const place of [...this.places]) void place.look();
      for (const changed of [...this.#watchers]) changed();
    };
  }

  attempt([request]: readonly [GrantRequest, ...GrantRequest[]], listener: AttemptListener): Attempt {
    return new Place(this, request, listener);
  }

  attemptBeside(write: Grant, _read: unknown, listener: AttemptListener): Attempt {
    return (write as Place).readBeside(listener);
  }

  async requestRevoke(_kind: string, name: string): Promise<boolean> {
    const asked = await this.link.call(() => {
      const holders = this.server.space.queue(name).filter((entry) => entry.token !== null);
      for (const holder of holders) holder.revokeAsked();
      return holders.length > 0;
    });
    if (asked === undefined) throw outage();
    return asked;
  }

  async announce(grant: Grant, label: string): Promise<void> {
    const announced = await this.link.call(() => this.server.relabel(grant.backendId, label));
    if (announced === undefined) throw outage();
    if (!announced)
      throw new LockLostError("the term is over", { reason: "lease-missing", token: grant.token });
  }

  /** Changes are missed while contact is broken. So `changed` is called once after each break. */
  watch(_kind: string, name: string, changed: () => void): () => void {
    const tell = (): void => {
      if (this.#watchers.has(tell)) changed();
    };
    this.#watchers.add(tell);
    const stop = this.server.space.watch(name, () => this.link.push(this.link.session, tell));
    return () => {
      this.#watchers.delete(tell);
      stop();
    };
  }

  async inspect(_kind: string, name: string, options: InspectOptions): Promise<LockSnapshot> {
    const queue = await this.link.call(() => [...this.server.space.queue(name)]);
    if (queue === undefined) throw outage();
    const nowMs = this.server.runtime.nowMs();
    const pending = queue.filter((entry) => entry.token === null);
    const shown = (entry: (typeof queue)[number]) => ({
      owner: null,
      label: entry.label,
      mode: entry.mode,
      backendId: entry.id,
      session: entry.session,
      address: null,
      recognisedAs: "holdfast" as const,
      sinceMs: { value: nowMs - entry.sinceMs, provenance: "exact" as const },
    });
    const held = queue.flatMap((entry) =>
      entry.token === null
        ? []
        : (entry.permitIds.length > 0 ? entry.permitIds : [entry.id]).map((backendId) => ({
            ...shown(entry),
            backendId,
            token: entry.token,
            holdCount: 1,
            heldByThisProvider: false,
            remainingMs: null,
            kept: entry.keepable ? null : false,
          })),
    );
    return {
      name,
      takenAt: new Date(this.server.runtime.wallMs()),
      kind: queue[0]?.kind ?? null,
      held,
      pending: pending
        .slice(0, options.maxPending ?? pending.length)
        .map((entry, position) => ({ ...shown(entry), position })),
      pendingTotal: pending.length,
    };
  }

  async close(): Promise<void> {
    this.link.close();
  }
}

class Place implements Attempt, Grant {
  backendId = "";
  token: bigint | null = null;
  contended = false;
  readonly roundTrips = 1;

  readonly #driver: SimulatedDriver;
  readonly #request: GrantRequest;
  readonly #listener: AttemptListener;
  state: GrantState | undefined;
  #state: "asking" | "waiting" | "held" | "leaving" | "over" = "asking";
  #validUntilMs: Millis = 0;
  #sentMs: Millis = 0;
  #left: Promise<boolean> | undefined;
  place: GrantPlace | undefined;
  #grantedOn = 0;
  /** Whether the client has had a sign of another client since the grant. */
  #othersHeard = false;
  #keep: "no" | "asked" | "alone" = "no";

  constructor(
    driver: SimulatedDriver,
    request: GrantRequest,
    listener: AttemptListener,
    how: "queues" | "beside a write" = "queues",
  ) {
    this.#driver = driver;
    this.#request = request;
    this.#listener = listener;
    driver.places.add(this);
    if (how === "queues") void this.#enter();
  }

  get permitIds(): readonly string[] {
    return permitIdsOf(this.#request, this.backendId);
  }

  validUntilMs(): Millis {
    return this.#driver.lease === "session" ? this.#driver.link.leaseUntilMs() : this.#validUntilMs;
  }

  keep(): boolean {
    const { link, server } = this.#driver;
    if (this.#state !== "held" || this.#othersHeard || this.#grantedOn !== link.connection) return false;
    this.#keep = "asked";
    const alone = (): boolean => {
      const queue = server.space.queue(this.#request.name);
      return queue.length === 1 && queue[0]?.id === this.backendId;
    };
    void link.call(alone).then((seen) => {
      if (seen === true) {
        this.#keep = "alone";
        (this.state as KeepingState).answered();
      } else if (seen === false) (this.state as KeepingState).wanted();
    });
    return true;
  }

  mayLend(): "yes" | "soon" | "no" {
    const { link, server } = this.#driver;
    const sure = link.state === "connected" && server.runtime.nowMs() < link.leaseUntilMs();
    if (!sure || this.#grantedOn !== link.connection || this.#state !== "held") return "no";
    return this.#keep === "alone" ? "yes" : "soon";
  }

  async prove(leaseMs: Millis): Promise<Millis | null> {
    const sentMs = this.#driver.server.runtime.nowMs();
    const renewed = await this.#driver.link.call(() => this.#driver.server.renew(this.backendId, leaseMs));
    if (renewed === undefined) throw outage();
    if (!renewed) return null;
    this.#validUntilMs = Math.max(this.#validUntilMs, this.#until(sentMs, leaseMs));
    return this.validUntilMs();
  }

  async withdraw(): Promise<void> {
    await this.release();
  }

  release(): Promise<boolean> {
    this.#left ??= this.#leave();
    return this.#left;
  }

  /** Asks, after contact came back, whether the entry still stands and whose turn it is. */
  async look(): Promise<void> {
    if (this.#state !== "waiting" && this.#state !== "held") return;
    const { link, server } = this.#driver;
    const sentMs = server.runtime.nowMs();
    const seen = await link.call(() => ({ entry: server.entry(this.backendId) }));
    if (seen === undefined) return;
    if (this.#state === "held") {
      if (seen.entry === undefined) this.#lost("lease-missing");
      else if (this.#driver.lease === "session" || (await this.#renewQuietly())) this.state?.recovered();
    } else if (this.#state === "waiting") {
      if (seen.entry === undefined) {
        this.#listener.requeued("entry-gone");
        void this.#enter();
      } else if (seen.entry.token !== null) {
        // The lease began at the server at an unknown time. So it is renewed before it counts.
        const renewed = await this.#renewQuietly();
        if (renewed) this.#grant(seen.entry.token, sentMs);
        // The lease ran out between the two requests: look again, which finds the entry gone and asks for the lock anew.
        else if (link.state === "connected" && this.#state === "waiting") void this.look();
      }
    }
  }

  sessionLost(): void {
    if (this.#state === "held" || this.#state === "leaving") this.#lost("session-expired");
    else if (this.#state === "waiting") {
      this.#end();
      this.#listener.sessionEnded({ queued: true, roundTrips: 1 });
    }
  }

  async #enter(): Promise<void> {
    const { link, server } = this.#driver;
    const { mayWait } = this.#request;
    this.#state = "asking";
    this.#sentMs = server.runtime.nowMs();
    const { entry, id, tell } = this.#newEntry();
    const added = await link.call(() => {
      const ahead = server.space.queue(entry.name).length;
      return { ok: server.add(entry, mayWait, tell), token: entry.token, before: entry.before, ahead };
    });
    if (this.#state !== "asking") return;
    if (added === undefined) {
      this.#end();
      this.#listener.failed(outage());
      // The entry may have arrived: it is removed as soon as there is contact, if its session still lives.
      void this.#remove(id);
    } else if (!added.ok) {
      this.#end();
      this.#listener.unavailable();
    } else {
      this.contended = added.ahead > 0;
      if (added.token !== null) {
        this.place = { at: String(added.token), after: String(added.before) };
        this.#grant(added.token, this.#sentMs);
      } else {
        this.#state = "waiting";
        this.#listener.waiting();
      }
    }
  }

  /** A read beside this write, confirmed by the server. The entry of a request without an answer is removed. */
  readBeside(listener: AttemptListener): Place {
    const read = new Place(
      this.#driver,
      { ...this.#request, mode: "shared", keepable: false },
      listener,
      "beside a write",
    );
    void read.#enterBeside(this);
    return read;
  }

  async #enterBeside(write: Place): Promise<void> {
    const { link, server } = this.#driver;
    const { entry, id, tell } = this.#newEntry();
    this.#sentMs = server.runtime.nowMs();
    const added = await link.call(() => server.addBeside(write.backendId, entry, tell));
    if (this.#state !== "asking") return;
    if (added === true && write.token !== null) {
      this.#grant(write.token, this.#sentMs);
      return;
    }
    this.#end();
    void this.#remove(id);
    this.#listener.failed(
      added === undefined
        ? outage()
        : new LockLostError("the write is gone", { reason: "lease-missing", token: write.token }),
    );
  }

  #newEntry(): { entry: ClientEntry; id: string; tell: (event: string) => void } {
    const { server, link } = this.#driver;
    const { name, kind, mode, permits, limit, label, leaseMs, keepable } = this.#request;
    const id = server.runtime.randomId();
    const { session } = link;
    this.backendId = id;
    const entry = {
      id,
      name,
      kind,
      mode,
      permits,
      limit: typeof limit === "number" ? limit : null,
      permitIds: permitIdsOf(this.#request, id),
      session,
      label,
      sinceMs: server.runtime.nowMs(),
      leaseMs,
      keepable,
      token: null as bigint | null,
      before: null as bigint | null,
      expiresAtMs: 0,
    };
    return { entry, id, tell: (event) => link.push(session, () => this.#hear(id, event)) };
  }

  #hear(id: string, event: string): void {
    if (id !== this.backendId) return;
    if (event === "revoke" || event === "wanted") {
      const kept = this.#keep !== "no";
      if (event === "revoke" && (this.#request.revocable || kept)) this.state?.revokeRequested();
      this.#othersHeard = true;
      if (kept) (this.state as KeepingState).wanted();
    } else if (event === "removed") {
      if (this.#state === "held" || this.#state === "leaving") this.#lost("stolen");
      else if (this.#state === "waiting") {
        this.#end();
        this.#listener.failed(
          new EvictedError("removed", { lockName: this.#request.name, backend: "memory" }),
        );
      }
    } else if (this.#state === "waiting") {
      this.#listener.notified();
      void this.look();
    }
  }

  #grant(token: bigint, sentMs: Millis): void {
    if (this.#state !== "asking" && this.#state !== "waiting") return;
    this.token = token;
    this.#state = "held";
    this.#grantedOn = this.#driver.link.connection;
    this.#validUntilMs = Math.max(this.#validUntilMs, this.#until(sentMs, this.#request.leaseMs));
    [this.state] = this.#listener.granted([this]);
  }

  async #renewQuietly(): Promise<boolean> {
    try {
      return (await this.prove(this.#request.leaseMs)) !== null;
    } catch {
      // Contact broke again; the next `look` asks anew.
      return false;
    }
  }

  async #leave(): Promise<boolean> {
    if (this.#state === "over") return false;
    const held = this.#state === "held";
    this.#state = "leaving";
    const removed = await this.#remove(this.backendId);
    this.#end();
    return held && removed;
  }

  async #remove(id: string): Promise<boolean> {
    const { link, server } = this.#driver;
    for (;;) {
      const removed = await link.call(() => server.remove(id));
      if (removed !== undefined) return removed;
      await link.whenConnected({ waitMs: 1e9 });
    }
  }

  #until(sentMs: Millis, leaseMs: Millis): Millis {
    return sentMs + leaseMs - (leaseMs / 100 + 2);
  }

  #lost(reason: "session-expired" | "stolen" | "lease-missing"): void {
    this.state?.lost(reason);
    this.#end();
  }

  #end(): void {
    this.#state = "over";
    this.#driver.places.delete(this);
  }
}

function permitIdsOf(request: GrantRequest, id: string): string[] {
  if (request.kind !== "semaphore") return [];
  return Array.from({ length: request.permits }, (_, index) => (index === 0 ? id : `${id}/${index}`));
}

export interface Simulated {
  readonly provider: LockProvider;
  readonly link: SimulatedLink;
}

export function simulatedLocks(
  server: SimulatedServer,
  lease: "session" | "ttl",
  options: ProviderOptions = {},
  defaultLeaseMs: Millis = 3_000,
): Simulated {
  const resolved = resolveProviderOptions("simulatedLocks", { ...options, runtime: server.runtime }, [], {
    keeps: lease === "session",
  });
  const events = new EventHub({
    provider: server.runtime.randomId(),
    backend: "memory",
    runtime: server.runtime,
  });
  const link = new SimulatedLink(server, events);
  const driver = new SimulatedDriver(server, link, lease);
  const provider = new DriverProvider({ driver, link, events, options: resolved, defaultLeaseMs });
  return { provider, link };
}
