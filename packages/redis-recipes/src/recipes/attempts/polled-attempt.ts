import {
  BackendError,
  LayoutConflictError,
  LockLostError,
  type Millis,
  UnsupportedError,
} from "@holdfast/core";
import type { Attempt, AttemptListener, GrantRequest, PermitLimit } from "@holdfast/core/driver";
import { nothingDone, OutcomeUnknownError, ofLock } from "../../client/errors.js";
import type { Answer } from "../../client/redis-line.js";
import { cappedSleepMs } from "../channels/channel-waiters.js";
import type { GrantedLock } from "../grants/holds.js";
import { checkAcknowledged, foundIn, RedisGrant } from "../grants/redis-grant.js";
import type { LockKeys, PolledAnswer, PolledOwner, PolledScripts } from "../kinds/kind.js";
import type { Requests } from "../requests/requests.js";
import { expiryGraceMs, isMisdated, marginMs } from "../requests/server-clock.js";
import type { RedisClientState } from "./client-state.js";

/** Up to this many other holds of a shared lock are asked about before each grant, and more than these once in a heartbeat. */
const fewHolds = 20;

/** A lock of a kind that has no queue of ours. */
export interface PolledLock {
  /** The name as the caller gave it. */
  readonly name: string;
  readonly keys: LockKeys;
  readonly scripts: PolledScripts;
}

export type PolledRequest = Pick<GrantRequest, "leaseMs" | "permits" | "limit" | "revocable" | "mayWait">;

type Granted = Answer<Extract<PolledAnswer, { readonly status: "granted" }>>;

/** A grant; or the time after which trying again may help although no message comes, `null` if the server cannot say. */
type Tried = { readonly granted: Granted } | { readonly againMs: Millis | null };

/**
 * Asks for a lock of a kind that has no queue of ours. It asks again when a message, a reconnect or the time shows that the
 * answer may have changed. All tries have the same wire owner, so no try counts twice. While it sleeps, nothing of it is at the
 * server.
 */
export class PolledAttempt implements Attempt {
  readonly #client: RedisClientState;
  readonly #requests: Requests;
  readonly #name: string;
  readonly #key: string;
  readonly #scripts: PolledScripts;
  readonly #asking: PolledOwner;
  readonly #beside: RedisGrant | undefined;
  readonly #request: PolledRequest;
  readonly #leaseMs: Millis;
  readonly #listener: AttemptListener;
  readonly #settled: Promise<void>;
  /** Ends the wait for messages. */
  #leave: () => void = () => {};
  #grant: RedisGrant | undefined;
  #over = false;
  #woken = false;
  #wake: () => void = () => {};
  #roundTrips = 0;
  /** Something of this owner may be at the server, or on its way there. */
  #mayBeThere = false;
  /** See `Requests.runLast`. */
  #lateUntilMs: number | null = null;
  #sentMs: Millis = 0;

  /** `beside`: the write beside which a read is asked for. The read has the same owner, as Redisson's layout requires. */
  constructor(
    client: RedisClientState,
    { name, keys, scripts }: PolledLock,
    request: PolledRequest,
    listener: AttemptListener,
    beside?: RedisGrant,
  ) {
    const owner = beside?.spec.owner ?? client.owners.fresh();
    const { permits } = request;
    const limit = limitIn(request.limit, name);
    const permitIds = scripts.permitIds?.(owner, permits, client.requests.runtime) ?? [];
    this.#client = client;
    this.#requests = client.requests;
    this.#name = name;
    this.#key = keys.key;
    this.#scripts = scripts;
    const readNumber = beside === undefined ? 1 : ++beside.lastRead;
    this.#asking = { keys, owner, permits, limit, permitIds, readNumber };
    this.#beside = beside;
    this.#request = request;
    this.#leaseMs = Math.max(1, Math.floor(request.leaseMs));
    this.#listener = listener;
    // The token key may have expired by now. Without this, the next holder's token could be lower than that of the write.
    if (beside !== undefined) client.requests.sawToken(keys.key, beside.token);
    // A forced release or a request to release may concern the grant that is asked for here.
    client.grantChannel.listen();
    this.#settled = this.#run();
  }

  async withdraw(): Promise<void> {
    this.#over = true;
    this.#wake();
    await this.#settled;
    this.#grant?.abandon();
    if (this.#mayBeThere) await this.#end();
  }

  // -------- asking until it is granted

  async #run(): Promise<void> {
    try {
      const tried = await this.#try();
      if ("granted" in tried) await this.#granted(tried.granted, false);
      else if (this.#over) return;
      else if (this.#beside !== undefined) await this.#writeGone();
      else if (!this.#request.mayWait) this.#listener.unavailable();
      else await this.#untilGranted(tried.againMs);
    } catch (error) {
      if (!this.#over) this.#listener.failed(error);
    } finally {
      this.#leave();
    }
  }

  async #untilGranted(firstMs: Millis | null): Promise<void> {
    const { wakes } = this.#scripts;
    let againMs = firstMs;
    if (wakes !== null) {
      const waiter = { size: this.#request.permits, ready: () => this.#wake(), wake: this.#messaged };
      this.#leave = this.#client.channelWaiters.enter(this.#asking.keys.channel, "redisson", wakes, waiter);
      // A grant does not depend on the subscription. So wait until messages arrive or a sleep is over, whichever comes first.
      await this.#sleep(againMs, 1);
      // Another try shows what was published between the first try and the subscription.
      againMs = 0;
    }
    for (let refusals = 1; !this.#over; refusals++) {
      await this.#sleep(againMs, refusals);
      if (this.#over) return;
      const tried = await this.#tryPatiently(againMs);
      if ("granted" in tried) {
        await this.#granted(tried.granted, true);
        return;
      }
      againMs = tried.againMs;
    }
  }

  /** A request that already waits sits an outage out. Core decides how long an outage may last. */
  async #tryPatiently(againMs: Millis | null): Promise<Tried> {
    try {
      return await this.#try();
    } catch (error) {
      // The owner may hold by now, and its lease runs: find that out as soon as possible. A new answer replaces one that was
      // lost, but not the count of replicas that came with it.
      if (error instanceof OutcomeUnknownError && this.#requests.settings.acks === 0) return { againMs: 50 };
      if (!nothingDone(error)) throw error;
      return { againMs: againMs === 0 ? null : againMs };
    }
  }

  /** `again`: the second time, since the first request was refused for a wrong date. */
  async #try(again = false): Promise<Tried> {
    const requests = this.#requests;
    const { what } = this.#scripts;
    this.#woken = false;
    if (requests.lacksClock(this.#key)) {
      const { lock, field } = this.#held;
      this.#roundTrips++;
      await requests.batches.ask(lock.renewal, lock.renewKeys, { field, leaseMs: this.#leaseMs });
      if (this.#over) return { againMs: null };
    }
    this.#roundTrips++;
    const { notAfterMs, options } = requests.grantBounds(this.#key);
    const floor = requests.floorOf(this.#key);
    const { owner } = this.#asking;
    const request = { owner, leaseMs: this.#leaseMs, mayWait: false, notAfterMs, floor };
    const call = this.#scripts.take(this.#asking, request, requests);
    const before = this.#mayBeThere;
    this.#mayBeThere = true;
    this.#sentMs = requests.runtime.nowMs();
    const answer = await requests.run(call, options).catch((error: unknown) => {
      if (nothingDone(error)) this.#mayBeThere = before;
      this.#lateUntilMs = requests.lateUntilMs(error, notAfterMs) ?? this.#lateUntilMs;
      throw error;
    });
    const { reply, acknowledged } = answer;
    if (reply.status === "granted") {
      checkAcknowledged(requests, acknowledged, this.#name);
      return { granted: answer as Granted };
    }
    // An earlier try whose answer was lost may still be on its way.
    this.#mayBeThere = before;
    if (!again && !this.#over && isMisdated(answer, requests.settings.commandTimeoutMs))
      return await this.#try(true);
    switch (reply.status) {
      case "late":
        throw this.#error(`a request for the ${what} "${this.#name}" came to Redis too late`);
      case "conflict":
        throw new LayoutConflictError(
          `the key ${JSON.stringify(this.#key)} cannot be used as a ${what}: there is something else (${reply.found})${reply.advice ?? ""}`,
          ofLock(this.#name),
        );
      case "busy":
        if (this.#request.mayWait && !this.#over) {
          const why = `the ${what} "${this.#name}" grants nothing: ${reply.missing}`;
          this.#listener.waiting(reply.missing === undefined ? undefined : this.#error(why));
        }
        return { againMs: reply.againMs };
    }
  }

  #error(message: string): BackendError {
    return new BackendError(message, ofLock(this.#name));
  }

  readonly #messaged = (): void => {
    this.#woken = true;
    this.#wake();
  };

  #sleep(againMs: Millis | null, refusals: number): Promise<void> {
    if (this.#over || this.#woken || againMs === 0) return Promise.resolve();
    const cappedMs =
      this.#scripts.sleepMs?.(this.#requests.runtime, refusals) ?? cappedSleepMs(this.#requests.runtime);
    const forMs = againMs === null ? cappedMs : Math.min(cappedMs, againMs + expiryGraceMs);
    return new Promise((resolve) => {
      const cancel = this.#requests.runtime.setTimer(Math.ceil(forMs), () => this.#wake());
      this.#wake = () => {
        this.#wake = () => {};
        cancel();
        if (this.#woken && !this.#over) this.#listener.notified();
        resolve();
      };
    });
  }

  // -------- the grant, and its end

  async #granted(answer: Granted, contended: boolean): Promise<void> {
    if (this.#over) return;
    const requests = this.#requests;
    const { reply } = answer;
    const beside = this.#beside;
    if (beside !== undefined && reply.beside !== true) {
      await this.#writeGone();
      return;
    }
    requests.sawToken(this.#key, reply.token);
    const asking = this.#asking;
    const { askedByChannel } = this.#scripts;
    const { revokeChannels } = this.#client;
    const token = beside?.token ?? reply.token;
    const grant = new RedisGrant(this.#client, {
      ...this.#held,
      owner: asking.owner,
      permitIds: asking.permitIds,
      leaseMs: this.#leaseMs,
      found: foundIn(answer, { token, pttlMs: Math.min(reply.pttlMs, this.#leaseMs) }),
      roundTrips: this.#roundTrips,
      contended,
      revocable: this.#request.revocable,
      claimed: false,
      release: () => this.#end(),
      over: askedByChannel ? () => revokeChannels.leaveIfUnheld(this.#key) : undefined,
    });
    this.#grant = grant;
    const first = this.#beforeDelivery(contended);
    const [state] = this.#listener.granted([grant], first.length > 0 ? Promise.all(first) : undefined);
    grant.enter(state);
  }

  /** The lock, and the name by which a renewal finds the hold. */
  get #held(): { readonly lock: GrantedLock; readonly field: string } {
    const { sharing, renewal, fieldOf, renewKeys } = this.#scripts;
    const asking = this.#asking;
    const keys = renewKeys?.(asking) ?? asking.keys.renewKeys;
    const lock = { name: this.#name, key: this.#key, sharing, renewal, renewKeys: keys };
    return { lock, field: fieldOf?.(asking) ?? asking.owner };
  }

  #beforeDelivery(contended: boolean): readonly Promise<void>[] {
    const { sharing, askedByChannel } = this.#scripts;
    const { grantChannel, holds, revokeChannels } = this.#client;
    const listening = (): Promise<void> =>
      askedByChannel ? revokeChannels.listen(this.#key) : grantChannel.subscribed();
    const listens = this.#request.revocable ? [listening()] : [];
    // The permits that became free may be those that another handle of this process has lost. Check those handles first, so that
    // their holders are notified of the loss before this grant is delivered. In a large pool each grant would renew all permits of
    // this process, so handles that were proven within a heartbeat are left out there.
    const others = sharing === "any" && contended ? holds.on(this.#key) : [];
    const { runtime, settings } = this.#requests;
    const fromMs = others.length > fewHolds ? runtime.nowMs() - settings.heartbeatMs : Infinity;
    const unproven = others.filter((other) => other.provenMs() < fromMs);
    return [...listens, ...unproven.map((other) => other.recheck())];
  }

  /**
   * The write is over beside which the read was asked for. The script may have made this owner the first reader, so that read is
   * ended.
   */
  async #writeGone(): Promise<void> {
    if (this.#mayBeThere) await this.#end();
    if (this.#over) return;
    const name = this.#name;
    const lost = new LockLostError(`the write lock "${name}" was gone when a read was asked for beside it`, {
      reason: "lease-missing",
      token: this.#beside?.token ?? null,
      ...ofLock(name),
    });
    this.#listener.failed(lost);
  }

  /**
   * Ends the hold, also that of a try whose answer was lost. `false` when it was no longer ours; an earlier copy of the same
   * request may have ended it.
   */
  async #end(): Promise<boolean> {
    const { what, outlivesLeaseMs } = this.#scripts;
    const call = this.#scripts.end(this.#asking, this.#requests);
    // What outlives its lease has a marker, by which the server refuses late takes.
    const lateUntilMs = outlivesLeaseMs === undefined ? this.#lateUntilMs : null;
    const { reply, repeated, runId } = await this.#requests.runLast(call, this.#overMs(), lateUntilMs);
    if (outlivesLeaseMs !== undefined) {
      if (reply === null) {
        throw new BackendError(`the ${what} "${this.#name}" could not be given back`, {
          ...ofLock(this.#name),
          retryable: false,
        });
      }
      this.#client.lastRequests.answered(call, this.#key, runId);
    }
    if (reply === null) return false;
    this.#mayBeThere = false;
    // Permits that were taken together are lost together when one of them is gone.
    const whole = reply.permits === undefined || reply.permits === this.#asking.permitIds.length;
    return (reply.ended && whole) || repeated;
  }

  /** The time by which the lease is certainly over at the server too, whatever was answered. */
  #overMs(): Millis {
    const { runtime, settings } = this.#requests;
    const { outlivesLeaseMs } = this.#scripts;
    if (outlivesLeaseMs !== undefined) return runtime.nowMs() + outlivesLeaseMs;
    const untilMs = Math.max(this.#sentMs + this.#leaseMs, this.#grant?.validUntilMs() ?? 0);
    // A request that reaches the server later than that does nothing.
    return untilMs + 2 * marginMs(this.#leaseMs) + 2 * settings.commandTimeoutMs;
  }
}

function limitIn(limit: PermitLimit | null, name: string): number | null {
  if (limit === null || typeof limit === "number") return limit;
  throw new UnsupportedError(
    `Redis has no counters that could be the limit of "${name}": give a number`,
    ofLock(name),
  );
}
