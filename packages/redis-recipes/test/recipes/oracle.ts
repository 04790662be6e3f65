import type { FencingToken, LockHandle, Millis } from "@holdfast/core";
import type { Contended } from "./contended.js";
import type { Figures } from "./figures.js";
import type { SimulatedClient } from "./simulated-client.js";
import type { SimulatedRedis } from "./simulated-redis.js";

interface Relied {
  readonly client: SimulatedClient;
  readonly handle: LockHandle;
  readonly field: string | undefined;
}

/** The time-out of a request. */
const longestAnswerMs: Millis = 1_000;

/** What must be true of one lock at every instant. `broken` throws an error with the whole story. */
export class Oracle {
  readonly #lock: Contended;
  readonly #redis: SimulatedRedis;
  readonly #clients: readonly SimulatedClient[];
  readonly #figures: Figures;
  readonly #broken: (what: string) => never;
  /** The last moment at which the backend itself may have dropped what it had confirmed. */
  #disturbedMs: Millis = -Infinity;
  /** Owners whose lock an operator has freed. Until the message arrives, they rely on a hold that is gone. */
  readonly #robbed = new Set<string>();
  #highest = 0n;
  #highestExclusive = 0n;
  readonly #grantedMs = new WeakMap<LockHandle, Millis>();
  readonly #highestOf = new Map<SimulatedClient, FencingToken>();

  constructor(
    lock: Contended,
    redis: SimulatedRedis,
    clients: readonly SimulatedClient[],
    figures: Figures,
    broken: (what: string) => never,
  ) {
    this.#lock = lock;
    this.#redis = redis;
    this.#clients = clients;
    this.#figures = figures;
    this.#broken = broken;
    redis.onForced = (owners) => {
      figures.forced++;
      for (const owner of owners) this.#robbed.add(owner);
    };
  }

  get disturbed(): boolean {
    return this.#disturbedMs !== -Infinity;
  }

  /**
   * A failover (`Infinity`), or a clock that was set by `byMs`. No client notices it before its next answer. A short step is
   * noticed only by an answer that took less time than the step. Until then only tokens protect.
   */
  disturb(byMs: Millis): void {
    this.#disturbedMs = this.#redis.runtime.nowMs();
    for (const { line } of this.#clients) line.disturb(byMs);
  }

  wasRobbed(owner: string): boolean {
    return this.#robbed.has(owner);
  }

  /** The highest token that a client was granted before it asks again. Its next token must be above, whatever happens. */
  floorOf(client: SimulatedClient): FencingToken {
    return this.#highestOf.get(client) ?? 0n;
  }

  granted(client: SimulatedClient, handle: LockHandle, floor: FencingToken): void {
    this.#grantedMs.set(handle, this.#redis.runtime.nowMs());
    const { token } = handle;
    if (token === null) return this.#broken("a grant without a token");
    if (token <= floor)
      this.#broken(`token ${token}, where the same client had been granted ${floor} before`);
    const own = this.#highestOf.get(client) ?? 0n;
    if (token > own) this.#highestOf.set(client, token);
    // After a step or a failover, an answer on its way may report a hold that has ended. So may an answer to a robbed owner.
    if (!this.disturbed && this.#robbed.size === 0) {
      const before = handle.mode === "exclusive" ? this.#highest : this.#highestExclusive;
      if (token <= before) this.#broken(`token ${token} after ${before}`);
    }
    if (token > this.#highest) this.#highest = token;
    if (handle.mode === "exclusive" && token > this.#highestExclusive) this.#highestExclusive = token;
  }

  /** Checks that the clients believe in one holder or in readers alone, and that the server knows each of them. */
  check(): void {
    const all = this.#clients.flatMap((client) => client.valid.map((handle) => this.#relied(client, handle)));
    if (all.length === 0) return;
    const counted = all.filter((each) => this.#counts(each));
    if (!alone(all) && alone(counted)) this.#figures.maybeTwoHolders++;
    if (!alone(counted)) this.#broken(`${counted.map(({ handle }) => handle.mode).join(" and ")} at once`);
    const fields = this.#redis.fieldsOf(this.#lock.keys.lock);
    for (const { client, field } of counted) {
      if (field !== undefined && fields.includes(field)) continue;
      this.#broken(`client ${this.#clients.indexOf(client)} relies on ${field}, the server has ${fields}`);
    }
  }

  #counts({ client, handle, field }: Relied): boolean {
    if (field !== undefined && this.#robbed.has(field.replace(/:write$/, ""))) return false;
    if (!this.disturbed) return true;
    if (handle.state !== "held" || client.paused || client.line.heardMs <= this.#disturbedMs) return false;
    return client.line.hiddenMs === 0 || this.#grantedAfter(handle);
  }

  /** Whether the hold was granted so late that its lease was read by the present clock. No answer takes longer than that. */
  #grantedAfter(handle: LockHandle): boolean {
    return (this.#grantedMs.get(handle) ?? -Infinity) > this.#disturbedMs + longestAnswerMs;
  }

  #relied(client: SimulatedClient, handle: LockHandle): Relied {
    const hold = client.state.holds.on(this.#lock.keys.lock).find(({ token }) => token === handle.token);
    return { client, handle, field: hold?.spec.field };
  }
}

function alone(relied: readonly Relied[]): boolean {
  return relied.length <= 1 || relied.every(({ handle }) => handle.mode === "shared");
}
