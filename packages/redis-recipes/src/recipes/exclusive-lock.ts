import type { Millis } from "@holdfast/core";
import type { Queued, StandAnswer } from "../scripts/mutex/answers.js";
import type { HeartbeatEntry } from "../scripts/mutex/heartbeat.js";
import type { Script } from "../scripts/script.js";
import type { BatchKind } from "./batches.js";
import type { GrantedLock } from "./redis-grant.js";

/** A call ready to be made. */
export interface BoundCall<R> {
  readonly script: Script<R>;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** A call that is made together with others of its kind. */
export interface BatchedCall<R> {
  readonly kind: BatchKind<never, R>;
  readonly keys: readonly string[];
  readonly entry: unknown;
}

export type Call<R> = BoundCall<R> | BatchedCall<R>;

export interface Standing {
  readonly owner: string;
  readonly leaseMs: Millis;
  readonly mayWait: boolean;
  /** Server time after which the request does nothing; `null` where no bound of the server's clock is known. */
  readonly notAfterMs: number | null;
  /** The highest token seen here for this lock. */
  readonly floor: bigint;
}

/** What a release or a cancel says. `gone`, `none`: nothing of the owner was there. */
export interface Ended {
  readonly status: string;
  readonly serverMs: number;
}

/** One named lock that has one holder and a queue, as its keys and scripts say: what the ticket and its grant are made of. */
export interface ExclusiveLock extends GrantedLock {
  /** Of the queue: those of a heartbeat. */
  readonly keys: readonly string[];
  readonly heartbeat: BatchKind<HeartbeatEntry, StandAnswer>;
  acquire(standing: Standing): BoundCall<StandAnswer>;
  release(owner: string): BoundCall<Ended>;
  /** The owner's last request, whatever became of it. */
  cancel(owner: string, leaseMs: Millis): Call<Ended>;
  /** The hash field of a hold. */
  fieldOf(owner: string): string;
  /** Redisson's channel on which a waiter in this place has to listen; `null` where our own messages will do. */
  channelFor(owner: string, place: Queued): string | null;
  /** Sets what others read of an owner that waits or holds. `false` when it does neither. */
  label?(owner: string, leaseMs: number, label: string): Promise<boolean>;
}
