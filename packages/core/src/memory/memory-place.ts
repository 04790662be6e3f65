import type { PrimitiveKind } from "../api/capabilities.js";
import type { Grant, GrantChange, GrantRequest, Ticket, TicketProgress } from "../api/driver.js";
import { EvictedError, LockLostError } from "../api/errors.js";
import type { Runtime } from "../api/runtime.js";
import type { FencingToken, LockMode, LossReason, Millis } from "../api/values.js";
import type { MemoryLink } from "./memory-link.js";
import type { MemoryEntry, MemorySpace } from "./memory-space.js";

const foreverMs: Millis = Number.MAX_SAFE_INTEGER;

/** What a place shares with all others of its provider. */
export interface MemoryWorld {
  readonly space: MemorySpace;
  readonly link: MemoryLink;
  readonly runtime: Runtime;
  /** Every place of this provider in any queue, to find again when the session ends. */
  readonly places: Set<MemoryPlace>;
}

/** A request whose limit, if it has one, is a number. */
export type MemoryRequest = GrantRequest & { readonly limit: number | null };

/** A request, its place in the queue, and its grant. */
export class MemoryPlace implements Ticket, Grant, MemoryEntry {
  readonly granted: Promise<Grant | null>;
  readonly id: string;
  readonly kind: PrimitiveKind;
  readonly mode: LockMode;
  readonly permits: number;
  readonly limit: number | null;
  readonly sinceMs: Millis;
  readonly backendId: string;
  readonly permitIds: readonly string[];
  readonly roundTrips = 0;
  readonly contended: boolean;
  label: string | null;
  token: FencingToken | null = null;
  session: string;

  readonly #world: MemoryWorld;
  readonly #request: MemoryRequest;
  readonly #progress: TicketProgress | undefined;
  #settle: { resolve: (grant: Grant) => void; reject: (error: unknown) => void } | undefined;
  #listener: ((change: GrantChange) => void) | undefined;
  #state: "waiting" | "between-sessions" | "held" | "over" = "waiting";
  #lossReason: LossReason | undefined;
  #revokeAsked = false;

  /** `write`: its place is beside that one, and so it is granted already. Throws `LockLostError` when that one is gone. */
  constructor(world: MemoryWorld, request: MemoryRequest, progress?: TicketProgress, write?: MemoryPlace) {
    const { space, link, places, runtime } = world;
    const { name, permits } = request;
    this.#world = world;
    this.#request = request;
    this.#progress = progress;
    this.id = space.nextId();
    this.kind = request.kind;
    this.mode = request.mode;
    this.permits = permits;
    this.limit = request.limit;
    this.permitIds = request.limit === null ? noPermits : [this.id, ...moreIds(space, permits - 1)];
    this.backendId = this.id;
    this.label = request.label;
    this.sinceMs = runtime.nowMs();
    this.session = link.session;
    this.contended = space.queue(name).length > 0;
    if (write === undefined) {
      places.add(this);
      space.add(name, this);
    } else {
      if (!space.addBeside(name, write, this)) throw write.lossError();
      places.add(this);
      this.#state = "held";
    }
    this.granted =
      this.token === null
        ? new Promise((resolve, reject) => {
            this.#settle = { resolve, reject };
          })
        : Promise.resolve<Grant>(this);
    if (this.token === null) progress?.waiting();
  }

  // -------- the space tells

  turnCame(): void {
    this.#state = "held";
    if (this.#settle === undefined) return;
    this.#progress?.notified();
    this.#settle.resolve(this);
  }

  removed(): void {
    const waited = this.#state === "waiting";
    const { name } = this.#request;
    this.#end();
    if (!waited) {
      this.#lost("stolen");
      return;
    }
    this.#settle?.reject(
      new EvictedError(`the queue entry for "${name}" was removed by somebody`, {
        lockName: name,
        backend: "memory",
      }),
    );
  }

  revokeAsked(): void {
    this.#revokeAsked = true;
    if (this.#request.revocable) this.tell({ type: "revoke-requested" });
  }

  // -------- the session tells

  sessionEnded(): void {
    if (this.#state === "held") {
      this.#end();
      this.#lost("session-expired");
    } else if (this.#state === "waiting") {
      this.#state = "between-sessions";
    }
  }

  enterAgain(): void {
    if (this.#state !== "between-sessions") return;
    const { space, link } = this.#world;
    const { name } = this.#request;
    const conflict = space.conflict(name, this);
    if (conflict !== undefined) {
      this.#end();
      this.#settle?.reject(conflict);
      return;
    }
    this.#state = "waiting";
    this.session = link.session;
    this.#progress?.requeued("session-lost");
    space.add(name, this);
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
    if (this.#lossReason !== undefined) listener({ type: "lost", reason: this.#lossReason });
    if (this.#revokeAsked && this.#request.revocable) listener({ type: "revoke-requested" });
  }

  /** A read beside this write. Rejects with `LockLostError` when the write is not held any more. */
  async readBeside(read: Pick<GrantRequest, "label" | "revocable">): Promise<MemoryPlace> {
    await this.#world.link.whenUp();
    if (this.#state !== "held") throw this.lossError();
    const { label, revocable } = read;
    const request: MemoryRequest = { ...this.#request, mode: "shared", label, revocable };
    return new MemoryPlace(this.#world, request, undefined, this);
  }

  async announce(label: string): Promise<void> {
    await this.#world.link.whenUp();
    if (this.#state !== "held") throw this.lossError();
    this.label = label;
    this.#world.space.touch(this.#request.name);
  }

  lossError(): LockLostError {
    const { name } = this.#request;
    return new LockLostError(`the lock "${name}" is not held any more`, {
      reason: this.#lossReason ?? "provider-closed",
      token: this.token,
      lockName: name,
      backend: "memory",
    });
  }

  #lost(reason: LossReason): void {
    this.#lossReason = reason;
    this.tell({ type: "lost", reason });
  }

  #leave(): boolean {
    if (this.#state === "over") return false;
    this.#end();
    return this.#world.space.remove(this.#request.name, this);
  }

  #end(): void {
    this.#state = "over";
    this.#world.places.delete(this);
  }
}

function moreIds(space: MemorySpace, count: number): string[] {
  return Array.from({ length: count }, () => space.nextId());
}

const done: Promise<void> = Promise.resolve();
const noPermits: readonly string[] = [];
