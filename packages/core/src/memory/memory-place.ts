import type { PrimitiveKind } from "../api/capabilities.js";
import type {
  Attempt,
  AttemptListener,
  Grant,
  GrantPlace,
  GrantRequest,
  GrantState,
  KeepingState,
} from "../api/driver.js";
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
  /** Every place of this provider in any queue, so that all are found when the session ends. */
  readonly places: Set<MemoryPlace>;
}

/** A request whose limit, if it has one, is a number. */
export type MemoryRequest = GrantRequest & { readonly limit: number | null };

/** One attempt: its place in the queue, and its grant. */
export class MemoryPlace implements Attempt, Grant, MemoryEntry {
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
  readonly keepable: boolean;
  label: string | null;
  token: FencingToken | null = null;
  place: GrantPlace | undefined;
  session: string;

  readonly #world: MemoryWorld;
  readonly #request: MemoryRequest;
  readonly #listener: AttemptListener;
  #state: GrantState | undefined;
  #phase: "arriving" | "waiting" | "held" | "over" = "arriving";
  #lossReason: LossReason | undefined;
  #revokeAsked = false;
  /** Contact has broken since this place was made. */
  #broken = false;
  #kept = false;

  /**
   * `write`: the new place is a read beside that write, and so it is granted already. Throws `LockLostError` when
   * the write is gone.
   */
  constructor(world: MemoryWorld, request: MemoryRequest, listener: AttemptListener, write?: MemoryPlace) {
    const { space, link, places, runtime } = world;
    const { name, permits } = request;
    this.#world = world;
    this.#request = request;
    this.#listener = listener;
    this.id = space.nextId();
    this.kind = request.kind;
    this.mode = request.mode;
    this.permits = permits;
    this.limit = request.limit;
    this.permitIds = request.limit === null ? noPermits : [this.id, ...moreIds(space, permits - 1)];
    this.backendId = this.id;
    this.keepable = request.keepable;
    this.label = request.label;
    this.sinceMs = runtime.nowMs();
    this.session = link.session;
    this.contended = space.queue(name).length > 0;
    if (write === undefined) {
      places.add(this);
      space.add(name, this);
      if (this.token === null) {
        this.#phase = "waiting";
        listener.waiting();
      }
    } else {
      if (!space.addBeside(name, write, this)) throw write.lossError();
      places.add(this);
      this.turnCame(null);
    }
  }

  get name(): string {
    return this.#request.name;
  }

  // -------- reports of the space

  turnCame(before: FencingToken | null): void {
    if (this.#phase === "waiting") this.#listener.notified();
    this.#phase = "held";
    if (this.keepable) this.place = { at: String(this.token), after: String(before) };
    [this.#state] = this.#listener.granted([this]);
    if (this.#revokeAsked) this.revokeAsked();
  }

  removed(): void {
    const waited = this.#phase === "waiting";
    const { name } = this.#request;
    this.#end();
    if (!waited) this.#lost("stolen");
    else {
      this.#listener.failed(
        new EvictedError(`the queue entry for "${name}" was removed by an operator or another client`, {
          lockName: name,
          backend: "memory",
        }),
      );
    }
  }

  revokeAsked(): void {
    this.#revokeAsked = true;
    if (this.#request.revocable || this.#kept) this.#state?.revokeRequested();
    this.wanted();
  }

  wanted(): void {
    if (this.#kept) (this.#state as KeepingState).wanted();
  }

  // -------- reports of the session

  contact(change: "uncertain" | "recovered"): void {
    this.#broken = true;
    this.#state?.[change]();
  }

  sessionEnded(): void {
    if (this.#phase === "over") return;
    const waited = this.#phase === "waiting";
    this.drop();
    if (waited) this.#listener.sessionEnded({ queued: true, roundTrips: 0 });
    else this.#lost("session-expired");
  }

  // -------- the attempt and the grant

  async withdraw(): Promise<void> {
    await this.release();
  }

  release(): Promise<boolean> {
    if (!this.#live) return Promise.resolve(false);
    if (this.#world.link.state === "connected") return Promise.resolve(this.#leave());
    return this.#world.link.whenUp().then(() => this.#leave());
  }

  keep(): boolean {
    const { space, link } = this.#world;
    const alone = space.queue(this.name).length === 1;
    const heard = this.#revokeAsked || this.#broken || link.state !== "connected";
    this.#kept = this.#held && alone && !heard;
    return this.#kept;
  }

  mayLend(): "yes" | "no" {
    return this.#held && this.#world.link.state === "connected" ? "yes" : "no";
  }

  validUntilMs(): Millis {
    return this.#live || this.#lossReason === undefined ? foreverMs : 0;
  }

  async prove(): Promise<Millis | null> {
    await this.#world.link.whenUp();
    return this.#held ? foreverMs : null;
  }

  /** A read beside this write. Throws `LockLostError` when the write is not held any more. */
  readBeside(read: Pick<GrantRequest, "label" | "revocable">, listener: AttemptListener): MemoryPlace {
    if (!this.#held) throw this.lossError();
    const { label, revocable } = read;
    const request: MemoryRequest = { ...this.#request, mode: "shared", label, revocable, keepable: false };
    return new MemoryPlace(this.#world, request, listener, this);
  }

  async announce(label: string): Promise<void> {
    await this.#world.link.whenUp();
    if (!this.#held) throw this.lossError();
    this.label = label;
    this.#world.space.touch(this.#request.name);
  }

  /**
   * The end of a session reaches its places in slices, over several turns of the event loop. A place that is used before its
   * slice notices the end here.
   */
  get #live(): boolean {
    if (this.session !== this.#world.link.session) this.sessionEnded();
    return this.#phase !== "over";
  }

  get #held(): boolean {
    return this.#live && this.#phase === "held";
  }

  /** Leaves the queue without a report; no waiter is granted before `MemorySpace.serve()`. */
  drop(): void {
    this.#end();
    this.#world.space.drop(this.name, this);
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
    this.#state?.lost(reason);
  }

  #leave(): boolean {
    if (!this.#live) return false;
    this.#end();
    return this.#world.space.remove(this.#request.name, this);
  }

  #end(): void {
    this.#phase = "over";
    this.#world.places.delete(this);
  }
}

function moreIds(space: MemorySpace, count: number): string[] {
  return Array.from({ length: count }, () => space.nextId());
}

const noPermits: readonly string[] = [];
