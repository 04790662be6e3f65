import {
  BackendError,
  type GrantRequest,
  LayoutConflictError,
  type Millis,
  type Ticket,
  type TicketProgress,
} from "@holdfast/core";
import { nothingDone } from "../client/errors.js";
import type { RenewAnswer, RenewEntry } from "../scripts/mutex/renew.js";
import type { BatchKind } from "./batches.js";
import type { RedisDesk } from "./desk.js";
import type { BoundCall, Standing } from "./exclusive-lock.js";
import { PollingTicket, type Tried } from "./polling-ticket.js";
import { checkAcknowledged, type HoldSpec, RedisHold } from "./redis-hold.js";
import { marginMs } from "./server-clock.js";
import type { WakeRule } from "./wake-rooms.js";

/** What a try was answered, in the words that all kinds share. */
export type PolledAnswer = { readonly serverMs: number } & (
  | {
      readonly status: "granted";
      readonly token: bigint;
      readonly pttlMs: Millis;
      /** As in `Tried`. */
      readonly beside?: boolean;
    }
  /** `againMs`: something that is in the way ends by then at the latest; `null`: nobody can say. */
  | {
      readonly status: "busy";
      readonly againMs: Millis | null;
      /** What has to be done before anything can be granted, where no hold is in the way. */
      readonly missing?: string;
    }
  | { readonly status: "late" }
  /** `advice`: what to do about it, where that is known. */
  | { readonly status: "conflict"; readonly found: string; readonly advice?: string }
);

/** What the last request of an owner was answered. */
export interface PolledEnd {
  readonly serverMs: number;
  /** The hold was there, and ended. */
  readonly ended: boolean;
  /** Where each permit may end by itself: how many of them were there. */
  readonly permits?: number;
}

/** One owner's request for a hold of a kind without a queue of ours, as its keys and scripts say. */
export interface PolledLock {
  /** As the caller gave it. */
  readonly name: string;
  /** The key that decides which master serves it; also the one in grant messages. */
  readonly key: string;
  readonly what: string;
  readonly owner: string;
  /** As a renewal and `inspect` know the hold. */
  readonly field: string;
  readonly permitIds: readonly string[];
  /** Of a read that is asked for beside a write: it carries the write's token. */
  readonly writeToken?: bigint;
  /** Who may hold beside it. */
  readonly company: "none" | "readers" | "any";
  readonly renewal: BatchKind<RenewEntry, RenewAnswer>;
  readonly renewKeys: readonly string[];
  tryOnce(standing: Standing): BoundCall<PolledAnswer>;
  /** Safe to send again, and whatever became of the tries. */
  end(): BoundCall<PolledEnd>;
  /** Where wake-ups come from; `null`: none. */
  readonly channel: { readonly name: string; readonly rule: WakeRule } | null;
  sleepMs(refusals: number): Millis;
  /** Where no message names the holder: how one that can be asked to let go hears of it. */
  readonly wishes?: { arm(key: string): Promise<void>; settle(key: string): void };
  /** Nothing ends by itself: the last request has to arrive, however long that takes. */
  readonly outlivesLease?: boolean;
}

/** How long a last request that has to arrive is repeated. */
const patienceMs: Millis = 600_000;

/** Asks for it, and waits where the request may wait. */
export function requestPolled(
  desk: RedisDesk,
  lock: PolledLock,
  request: Pick<GrantRequest, "leaseMs" | "mayWait" | "permits" | "revocable">,
  progress: TicketProgress,
): Ticket {
  // For theft and wishes that concern the hold to come.
  desk.grantChannel.listen();
  const asked = new PolledRequest(desk, lock, request);
  const { channel } = lock;
  const spec = {
    tryOnce: (counts: Counts) => asked.tryOnce(counts),
    takeBack: () => asked.takeBack(),
    mayWait: request.mayWait,
    channel: channel && { ...channel, kind: "redisson" as const, size: request.permits },
    sleepMs: (refusals: number) => lock.sleepMs(refusals),
    // An answer that was lost can be made up for by asking again, but not what its replicas had said.
    mayRepeat: desk.settings.acks === 0,
  };
  return new PollingTicket(desk.runtime, desk.rooms, spec, progress);
}

interface Counts {
  readonly roundTrips: number;
  readonly contended: boolean;
}

/** All tries of one owner, and their end. */
export class PolledRequest {
  readonly #desk: RedisDesk;
  readonly #lock: PolledLock;
  readonly #leaseMs: Millis;
  readonly #revocable: boolean;
  #hold: RedisHold | null = null;
  /** Something of ours may be at the server, or on its way there. */
  #unsure = false;
  /** As in `RedisDesk.runLast`. */
  #lateUntilMs: number | null = null;
  #sentMs: Millis = 0;

  constructor(
    desk: RedisDesk,
    lock: PolledLock,
    { leaseMs, revocable }: Pick<GrantRequest, "leaseMs" | "revocable">,
  ) {
    this.#desk = desk;
    this.#lock = lock;
    this.#leaseMs = Math.max(1, Math.floor(leaseMs));
    this.#revocable = revocable;
  }

  async tryOnce(counts: Counts): Promise<Tried> {
    const { acks, waitTimeoutMs } = this.#desk.settings;
    const { line } = this.#desk;
    const { key, name, what, owner } = this.#lock;
    const notAfterMs = this.#desk.notAfterMs(line.masterOf(key), acks > 0 ? 2 * waitTimeoutMs : 0);
    const call = this.#lock.tryOnce({
      owner,
      leaseMs: this.#leaseMs,
      mayWait: false,
      notAfterMs,
      floor: this.#desk.floorOf(key),
    });
    const before = this.#unsure;
    this.#unsure = true;
    this.#sentMs = this.#desk.runtime.nowMs();
    const wait = acks > 0 ? { wait: { replicas: acks, timeoutMs: waitTimeoutMs } } : {};
    const answer = await this.#desk.run(call, wait).catch((error: unknown) => {
      if (nothingDone(error)) this.#unsure = before;
      this.#lateUntilMs = this.#desk.lateUntilMs(error, notAfterMs) ?? this.#lateUntilMs;
      throw error;
    });
    const { reply, sentMs, runId, acknowledged } = answer;
    switch (reply.status) {
      case "granted": {
        checkAcknowledged(this.#desk, acknowledged, name);
        this.#desk.sawToken(key, reply.token);
        const leftMs = Math.min(reply.pttlMs, this.#leaseMs);
        const validUntilMs = sentMs + leftMs - marginMs(leftMs);
        const token = reply.beside === true ? (this.#lock.writeToken ?? reply.token) : reply.token;
        this.#hold = this.#holdOf({ token, validUntilMs, runId, askedMs: sentMs, ...counts });
        await this.#settleIn(this.#hold);
        return { grant: this.#hold, beside: reply.beside };
      }
      case "late":
        this.#unsure = before;
        throw new BackendError(`a request for the ${what} "${name}" came to Redis too late`, {
          lockName: name,
          backend: "redis",
        });
      case "conflict":
        this.#unsure = before;
        throw new LayoutConflictError(
          `the key ${JSON.stringify(key)} cannot be used as a ${what}: there is something else (${reply.found})${reply.advice ?? ""}`,
          { lockName: name, backend: "redis" },
        );
      case "busy":
        // A try before it whose answer was lost may still be on its way.
        this.#unsure = before;
        return { againMs: reply.againMs, blockedBy: this.#blockedBy(reply.missing) };
    }
  }

  #blockedBy(missing: string | undefined): Error | undefined {
    if (missing === undefined) return undefined;
    const { name, what } = this.#lock;
    return new BackendError(`the ${what} "${name}" grants nothing: ${missing}`, {
      lockName: name,
      backend: "redis",
    });
  }

  /** Also ends a grant that was made meanwhile. */
  async takeBack(): Promise<void> {
    this.#hold?.abandon();
    if (this.#unsure) await this.#end();
  }

  #holdOf(granted: Counts & Pick<HoldSpec, "token" | "validUntilMs" | "runId" | "askedMs">): RedisHold {
    const { name, owner, key, field, permitIds, renewal, renewKeys } = this.#lock;
    const hold = new RedisHold(this.#desk, {
      lockName: name,
      owner,
      key,
      leaseMs: this.#leaseMs,
      ...granted,
      revocable: this.#revocable,
      claimed: false,
      renewal,
      renewKeys,
      field,
      permitIds,
      release: () => this.#end(),
    });
    const { holds } = this.#desk;
    const { company } = this.#lock;
    if (company === "none") holds.addAlone(hold);
    else if (company === "readers") holds.addReader(hold);
    else holds.add(hold);
    return hold;
  }

  /**
   * What became free may be what somebody else in this process has lost: whoever waited for it is told only once those beside it
   * know how they stand.
   */
  async #settleIn(hold: RedisHold): Promise<void> {
    const { company, key, wishes } = this.#lock;
    const { grantChannel } = this.#desk;
    const armed = this.#revocable ? (wishes?.arm(key) ?? grantChannel.heard()) : undefined;
    if (company === "any" && hold.contended) {
      const beside = this.#desk.holds.on(key).filter((other) => other !== hold);
      await Promise.all(beside.map((other) => other.recheck()));
    }
    await armed;
  }

  /** `false` when it was not ours any more; an earlier copy of the same request may have ended it. */
  async #end(): Promise<boolean> {
    const { name, key, what, outlivesLease = false, wishes } = this.#lock;
    const call = this.#lock.end();
    const { reply, repeated, runId } = await this.#desk.runLast(call, this.#overMs(), this.#lateUntilMs);
    if (outlivesLease) {
      if (reply === null) {
        throw new BackendError(`the ${what} "${name}" could not be given back`, {
          lockName: name,
          backend: "redis",
          retryable: false,
        });
      }
      this.#desk.lastRequests.answered(call, key, runId);
    }
    if (this.#revocable) wishes?.settle(key);
    if (reply === null) return false;
    this.#unsure = false;
    // Of permits taken together one that is gone is the loss of all.
    const whole = reply.permits === undefined || reply.permits === this.#lock.permitIds.length;
    return (reply.ended && whole) || repeated;
  }

  /** When the lease is over at the server too, whatever was answered when. */
  #overMs(): Millis {
    const { runtime } = this.#desk;
    if (this.#lock.outlivesLease === true) return runtime.nowMs() + patienceMs;
    const untilMs = Math.max(this.#sentMs + this.#leaseMs, this.#hold?.validUntilMs() ?? 0);
    // A request that reaches the server later than that does nothing.
    return untilMs + 2 * marginMs(this.#leaseMs) + 2 * this.#desk.settings.commandTimeoutMs;
  }
}
