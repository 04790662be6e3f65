import type { Millis } from "@holdfast/core";
import type { BoundCall, Standing } from "./exclusive-lock.js";
import type { GrantedLock, RedisGrant } from "./redis-grant.js";
import type { WakeRule } from "./wake-rooms.js";

/** What a try was answered, in the words that all kinds share. */
export type PolledAnswer = { readonly serverMs: number } & (
  | {
      readonly status: "granted";
      readonly token: bigint;
      readonly pttlMs: Millis;
      /** Of a read: the same owner holds the write too. */
      readonly beside?: boolean;
    }
  /** `againMs`: something that is in the way ends by then at the latest; `null`: the server cannot say. */
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
export interface PolledLock extends GrantedLock {
  readonly what: string;
  readonly owner: string;
  /** As a renewal and `inspect` know the hold. */
  readonly field: string;
  readonly permitIds: readonly string[];
  /** The write beside which a read is asked for: the read carries its token, and is granted beside it only. */
  readonly beside?: RedisGrant;
  tryOnce(standing: Standing): BoundCall<PolledAnswer>;
  /** Safe to send again, and whatever became of the tries. */
  end(): BoundCall<PolledEnd>;
  /** Where wake-ups come from; `null`: none. */
  readonly channel: { readonly name: string; readonly rule: WakeRule } | null;
  /** Longest sleep without a message, after so many refusals. */
  sleepMs(refusals: number): Millis;
  /** Where no message names the holder: how one that can be asked to let go hears of it. */
  readonly wishes?: { arm(key: string): Promise<void>; settle(key: string): void };
  /** Nothing ends by itself: the last request has to arrive, however long that takes. */
  readonly outlivesLease?: boolean;
}
