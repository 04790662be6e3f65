import type { Millis, PrimitiveKind, Runtime } from "@holdfast/core";
import type { RedissonPublish } from "../../layout/channels.js";
import { type MutexKeys, mutexKeyList } from "../../layout/keys.js";
import { isOurs } from "../../layout/owners.js";
import type { FairCancelEntry } from "../../scripts/fair/cancel.js";
import type { LockPicture } from "../../scripts/inspect/picture.js";
import { mappedScript } from "../../scripts/mapped-script.js";
import type { StandArgs } from "../../scripts/mutex/acquire.js";
import type { Conflict, Queued, StandAnswer } from "../../scripts/mutex/answers.js";
import type { HeartbeatArgs, HeartbeatEntry } from "../../scripts/mutex/heartbeat.js";
import type { PassArgs } from "../../scripts/mutex/release.js";
import { type RenewAnswer, type RenewEntry, renew } from "../../scripts/mutex/renew.js";
import type { TurnArgs } from "../../scripts/read-write/write-release.js";
import { type BatchScript, type CallScript, SameWords } from "../../scripts/script.js";
import type { BatchContext, BatchKind } from "../requests/batches.js";
import type { BoundCall } from "../requests/calls.js";

/** What a script that frees a lock has to know of the fleet, also when an operator runs it. */
export interface FleetContext {
  /** On channels that our own clients listen to as well, so also where there is no Java. */
  readonly publish: RedissonPublish;
  readonly settings: { readonly fairLockWaitTimeoutMs: Millis; readonly db: number };
}

// -------- one lock

/** The names of one lock in Redis. */
export interface LockKeys {
  /** The key that decides which master serves the lock; grant messages name it too. */
  readonly key: string;
  /** The keys in the order of take, heartbeat, end and force. */
  readonly keys: readonly string[];
  /** The lock and its token. */
  readonly renewKeys: readonly string[];
  readonly lookKeys: readonly string[];
  /** Begins the keys that one owner has; `""` where owners have none. */
  readonly ownerPrefix: string;
  /** Redisson's channel. */
  readonly channel: string;
  /** A channel of ours on which each change of holder is published; `""` for none. */
  readonly changes: string;
}

/** `more`: what is not as in most layouts, where the lock and its token are the first keys and a look needs all of them. */
export function lockKeys(
  { key, keys, channel }: Pick<LockKeys, "key" | "keys" | "channel">,
  more: Partial<LockKeys> = {},
): LockKeys {
  const renewKeys = SameWords.from(keys.slice(0, 2));
  return { key, keys, channel, renewKeys, lookKeys: keys, ownerPrefix: "", changes: "", ...more };
}

/** The keys of a lock that has a queue of ours. */
export function queueKeys(layout: MutexKeys, channel: string, more?: Partial<LockKeys>): LockKeys {
  return lockKeys({ key: layout.lock, keys: SameWords.from(mutexKeyList(layout)), channel }, more);
}

// -------- kinds

/** The side of a read-write lock; other kinds have `"write"` only. */
export type Side = "write" | "read";

/** An answer that is no more than a word. */
export interface Said<W extends string = string> {
  readonly status: W;
  readonly serverMs: number;
}

export type RevokeReply = Said<"asked" | "foreign" | "free"> | Conflict;
export type ForceReply = Said<"forced" | "free" | "other"> | Conflict;

/** One kind of lock in Redis. Constant: driver, `inspect`, force-release and the actions of the collector read it. */
export interface RedisKind {
  /** Default: the write side alone. */
  readonly sides?: readonly Side[];
  /** `name`: with the provider's prefix. */
  keysOf(name: string): LockKeys;
  /** Exclusive holds, by a queue of ours. */
  readonly queued?: QueuedScripts;
  /** Holds without a queue of ours. */
  readonly polled?: PolledScripts;
  /** Waiters leave no trace, or some of them do not. */
  readonly hidesWaiters: boolean;
  /** Looks at holders and waiters. Left out by semaphores, which have permits and no fields of holders. */
  readonly look?: CallScript<{ readonly maxPending: number; readonly holdPrefix: string }, LockPicture>;
  /** Asks holders of ours to let go. */
  requestRevoke(keys: LockKeys, context: FleetContext, side: Side): BoundCall<RevokeReply>;
  /** An operator frees it under its holder, and the holder gets a message. Left out where the server does not know its holders. */
  force?(keys: LockKeys, context: FleetContext, side: Side): BoundCall<ForceReply>;
}

/** A kind that keeps its holders as fields of a hash. */
export type FieldsKind = RedisKind & Required<Pick<RedisKind, "look" | "force">>;

/** One request that may grant, without what is the same for all requests of a client. */
export type TakeRequest = Omit<StandArgs, "aliveMs" | "tokenTtlMs" | "changes">;

interface FairArgs {
  /** Redisson's `fairLockWaitTimeout`. */
  readonly waitMs: Millis;
}

export interface EndArgs extends PassArgs, TurnArgs, FairArgs {}

export interface QueuedScripts {
  readonly acquire: CallScript<StandArgs & FairArgs, StandAnswer>;
  heartbeat(keys: LockKeys): BatchKind<HeartbeatEntry, StandAnswer>;
  /** `gone`: nothing of the owner was there. */
  readonly release: CallScript<EndArgs & { readonly owner: string }, Said>;
  /** The owner's last request, whatever became of those before it. `none`: nothing of the owner was there. */
  readonly cancel:
    | CallScript<EndArgs & { readonly owner: string; readonly leaseMs: Millis }, Said>
    | BatchKind<FairCancelEntry, Said>;
  endArgs(keys: LockKeys, context: BatchContext): EndArgs;
  /** The hash field of a hold. Default: the owner. */
  fieldOf?(owner: string): string;
  /** Redisson's channel on which a waiter in this place has to listen; `null` where our own messages will do. */
  channelFor(keys: LockKeys, owner: string, place: Queued): string | null;
  /** Keys of `stay`, by which waiters behind the first say that they are there. Left out where each has to ask every time. */
  stayKeys?(keys: LockKeys): readonly string[];
  /** Whether owners have labels that others read, see `setLabel`. */
  readonly labels?: boolean;
}

/** What a try was answered, in the words that all kinds share. */
export type PolledAnswer = { readonly serverMs: number } & (
  | {
      readonly status: "granted";
      readonly token: bigint;
      readonly pttlMs: Millis;
      /** Set for a read whose owner holds the write too. */
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

/** One owner of a kind without a queue, from its first try to its end. */
export interface PolledOwner {
  readonly keys: LockKeys;
  readonly owner: string;
  readonly permits: number;
  /** How many permits there have to be in all; `null`: as it is. */
  readonly limit: number | null;
  readonly permitIds: readonly string[];
}

/**
 * Which waiters a message wakes: all, or from the front as many as the number in it has something for. A waiter that needs more than
 * what is left of the number sleeps on, so that it keeps none behind it from what is enough for them.
 */
export type WakeRule = "all" | "counted";

export interface PolledScripts {
  /** What errors call the lock. */
  readonly what: string;
  /** Which other clients may hold beside a holder. */
  readonly sharing: "none" | "readers" | "any";
  readonly renewal: BatchKind<RenewEntry, RenewAnswer>;
  /** Which waiters a message on the lock's channel wakes; `null`: there are no messages. */
  readonly wakes: WakeRule | null;
  /** Longest sleep without a message, after so many refusals. Default about a second. */
  sleepMs?(runtime: Runtime, refusals: number): Millis;
  /** No message names its holder: requests to let go come on a channel of the lock. */
  readonly askedByChannel?: boolean;
  /** Nothing ends by itself: the last request has to arrive, however long that takes. */
  readonly outlivesLease?: boolean;
  /** Default none. */
  permitIds?(owner: string, permits: number, runtime: Runtime): readonly string[];
  /** The name by which a renewal and `inspect` know the hold. Default: its owner. */
  fieldOf?(asking: PolledOwner): string;
  /** Default: those of the lock. */
  renewKeys?(asking: PolledOwner): readonly string[];
  take(asking: PolledOwner, request: TakeRequest, context: BatchContext): BoundCall<PolledAnswer>;
  /** Safe to send again, and whatever became of the tries. */
  end(asking: PolledOwner, context: BatchContext): BoundCall<PolledEnd>;
}

// -------- what several kinds share

/** Kinds whose exclusive holds a provider may keep for their next owner. */
export const keepable: ReadonlySet<PrimitiveKind> = new Set<PrimitiveKind>([
  "mutex",
  "reentrant-mutex",
  "read-write-lock",
  "reentrant-read-write-lock",
]);

/** The keys of `stay`: lock, waiters, alive. */
export function stayKeys({ keys }: LockKeys): readonly string[] {
  const [lock, , waiters, alive] = keys as [string, string, string, string];
  return [lock, waiters, alive];
}

/** 10,000 waits are 50 calls of some milliseconds each, be they for one lock or for many. */
export const heartbeatLimit = 200;
/** 10,000 holds are 20 calls. */
export const renewalLimit = 500;

type Renewals = BatchKind<RenewEntry, RenewAnswer>;

export function renewals<C>(script: BatchScript<C, RenewEntry, RenewAnswer>, common: C): Renewals {
  return { script, args: (entries) => script.args(common, entries), limit: renewalLimit };
}

/** Mutex, fair and spin lock, leadership, and the write side by its field. */
export const fieldRenewals: Renewals = renewals(renew, null);

/** The last request of an owner. `words`: what the script says where the hold was there. */
export function endsBy<G>(script: CallScript<G, Said>, ...words: string[]): CallScript<G, PolledEnd> {
  return mappedScript(script, ({ status, serverMs }) => ({ serverMs, ended: words.includes(status) }));
}

export function heartbeats(
  script: BatchScript<HeartbeatArgs & FairArgs, HeartbeatEntry, StandAnswer>,
  { limit = heartbeatLimit, changes = "" }: { readonly limit?: number; readonly changes?: string } = {},
): BatchKind<HeartbeatEntry, StandAnswer> {
  return {
    script,
    limit,
    args(entries, keys, context) {
      const { aliveMs, tokenTtlMs, claimLeaseMs: claimMs, fairLockWaitTimeoutMs: waitMs } = context.settings;
      const notAfterMs = context.notAfterMs(keys[0] as string);
      return script.args({ aliveMs, claimMs, notAfterMs, tokenTtlMs, waitMs, changes }, entries);
    },
  };
}

/** What every script needs that may pass a lock on. */
export function passingArgs({ channel, changes }: LockKeys, { settings, publish }: BatchContext): EndArgs {
  return {
    claimMs: settings.claimLeaseMs,
    aliveMs: settings.aliveMs,
    // Java is given its chance after so many hand-offs among ours; a fleet without Java needs none.
    maxDirectRun: settings.javaPeers ? settings.maxDirectRun : -1,
    tokenTtlMs: settings.tokenTtlMs,
    waitMs: settings.fairLockWaitTimeoutMs,
    // Long enough for a message to be heard and answered, short enough for a writer to come next; a heartbeat finds the end of it.
    readersTurnMs: Math.max(50, Math.round(settings.heartbeatMs / 4)),
    publish,
    channel,
    changes,
  };
}

/**
 * While Java holds, the first waiter also listens to Redisson's channel, because a release by Java sends nothing on our own channels.
 * The waiters behind it do not listen there, so that one message costs one request.
 */
export function listensToJava(place: Queued): boolean {
  return place.position === 0 && place.holder !== "" && !isOurs(place.holder);
}
