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
  /** How to publish on Redisson's channels. Our own clients listen to them too, so this is needed also without Java. */
  readonly publish: RedissonPublish;
  readonly settings: { readonly fairLockWaitTimeoutMs: Millis; readonly db: number };
}

// -------- one lock

/** The names of one lock in Redis. */
export interface LockKeys {
  /** The key that decides which master serves the lock; grant messages name it too. */
  readonly key: string;
  /** The keys in the order in which take, heartbeat, end and force use them. */
  readonly keys: readonly string[];
  /** The lock and its token. */
  readonly renewKeys: readonly string[];
  readonly lookKeys: readonly string[];
  /** The start of the keys that each owner has; `""` for kinds in which owners have no keys. */
  readonly ownerPrefix: string;
  /** Redisson's channel. */
  readonly channel: string;
  /** One of our channels, on which each change of holder is published; `""` for none. */
  readonly changes: string;
}

/**
 * Makes the names for the common layout, in which the lock and its token are the first keys and a look needs all keys. `more`:
 * what differs from it.
 */
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

/** An answer that has only a status. */
export interface Said<W extends string = string> {
  readonly status: W;
  readonly serverMs: number;
}

export type RevokeReply = Said<"asked" | "foreign" | "free"> | Conflict;
export type ForceReply = Said<"forced" | "free" | "other"> | Conflict;

/** One kind of lock in Redis. It is constant; the driver, `inspect`, forced releases and the actions of the collector read it. */
export interface RedisKind {
  /** Default: only the write side. */
  readonly sides?: readonly Side[];
  /** `name`: with the provider's prefix. */
  keysOf(name: string): LockKeys;
  /** Scripts for exclusive holds, with a queue of ours. */
  readonly queued?: QueuedScripts;
  /** Scripts for holds without a queue of ours. */
  readonly polled?: PolledScripts;
  /** Whether all or some waiters leave no trace. */
  readonly hidesWaiters: boolean;
  /** Looks at holders and waiters. Left out by semaphores, which have permits and no fields of holders. */
  readonly look?: CallScript<{ readonly maxPending: number; readonly holdPrefix: string }, LockPicture>;
  /** Asks our holders to release. */
  requestRevoke(keys: LockKeys, context: FleetContext, side: Side): BoundCall<RevokeReply>;
  /**
   * Frees the lock by an operator's order, and its holder gets a message. Left out where the server does not know the holders.
   */
  force?(keys: LockKeys, context: FleetContext, side: Side): BoundCall<ForceReply>;
}

/** A kind that keeps its holders as fields of a hash. */
export type FieldsKind = RedisKind & Required<Pick<RedisKind, "look" | "force">>;

/** One request that may grant, without the values that are the same for all requests of a client. */
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
  /** The owner's last request, whatever became of earlier ones. `none`: nothing of the owner was there. */
  readonly cancel:
    | CallScript<EndArgs & { readonly owner: string; readonly leaseMs: Millis }, Said>
    | BatchKind<FairCancelEntry, Said>;
  endArgs(keys: LockKeys, context: BatchContext): EndArgs;
  /** The hash field of a hold. Default: the owner. */
  fieldOf?(owner: string): string;
  /** Redisson's channel on which a waiter in this place has to listen; `null` where our own messages are enough. */
  channelFor(keys: LockKeys, owner: string, place: Queued): string | null;
  /**
   * The keys of `stay`, by which waiters behind the first report that they are there. Left out where each waiter has to ask every
   * time.
   */
  stayKeys?(keys: LockKeys): readonly string[];
  /** Whether owners have labels that others read; see `setLabel`. */
  readonly labels?: boolean;
}

/** The answer to a try, in the form that all kinds share. */
export type PolledAnswer = { readonly serverMs: number } & (
  | {
      readonly status: "granted";
      readonly token: bigint;
      readonly pttlMs: Millis;
      /** Set for a read whose owner also holds the write. */
      readonly beside?: boolean;
    }
  /** `againMs`: the time after which a hold that is in the way has ended at the latest; `null`: the server cannot say. */
  | {
      readonly status: "busy";
      readonly againMs: Millis | null;
      /** If no hold is in the way: what has to be done before anything can be granted. */
      readonly missing?: string;
    }
  | { readonly status: "late" }
  /** `advice`: what to do about it, if that is known. */
  | { readonly status: "conflict"; readonly found: string; readonly advice?: string }
);

/** The answer to the last request of an owner. */
export interface PolledEnd {
  readonly serverMs: number;
  /** Whether the hold was there and ended. */
  readonly ended: boolean;
  /** For kinds in which each permit may end by itself: how many of them were there. */
  readonly permits?: number;
}

/** One owner of a kind without a queue, from its first try to its end. */
export interface PolledOwner {
  readonly keys: LockKeys;
  readonly owner: string;
  readonly permits: number;
  /** How many permits there have to be in all; `null` accepts any number. */
  readonly limit: number | null;
  readonly permitIds: readonly string[];
  /** As in `ReadArgs`. */
  readonly readNumber: number;
}

/**
 * Which waiters a message wakes. `all`: all of them. `counted`: from the front, as many as the number in the message is enough
 * for. A waiter that needs more than what is left of the number sleeps on, so that the waiters behind it can use the rest.
 */
export type WakeRule = "all" | "counted";

export interface PolledScripts {
  /** The name of the kind in errors. */
  readonly what: string;
  /** Which other clients may hold beside a holder. */
  readonly sharing: "none" | "readers" | "any";
  readonly renewal: BatchKind<RenewEntry, RenewAnswer>;
  /** Which waiters a message on the lock's channel wakes; `null`: there are no messages. */
  readonly wakes: WakeRule | null;
  /** The longest sleep without a message, after that many refusals. Default about a second. */
  sleepMs?(runtime: Runtime, refusals: number): Millis;
  /** No message can name a holder, so requests to release come on a channel of the lock. */
  readonly askedByChannel?: boolean;
  /** Set where nothing ends by itself at the server: for so long the last request is repeated. */
  readonly outlivesLeaseMs?: Millis;
  /** Default none. */
  permitIds?(owner: string, permits: number, runtime: Runtime): readonly string[];
  /** The name by which a renewal and `inspect` know the hold. Default: its owner. */
  fieldOf?(asking: PolledOwner): string;
  /** Default: those of the lock. */
  renewKeys?(asking: PolledOwner): readonly string[];
  take(asking: PolledOwner, request: TakeRequest, context: BatchContext): BoundCall<PolledAnswer>;
  /** Safe to send again, whatever became of the tries. */
  end(asking: PolledOwner, context: BatchContext): BoundCall<PolledEnd>;
}

// -------- what several kinds share

/** Kinds whose exclusive holds a provider may keep for the next owner. */
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

/** 10,000 waits take 50 calls of some milliseconds each, for one lock or for many. */
export const heartbeatLimit = 200;
/** 10,000 holds take 20 calls. */
export const renewalLimit = 500;

type Renewals = BatchKind<RenewEntry, RenewAnswer>;

export function renewals<C>(script: BatchScript<C, RenewEntry, RenewAnswer>, common: C): Renewals {
  return { script, args: (entries) => script.args(common, entries), limit: renewalLimit };
}

/** The renewals of mutex, fair and spin lock and leadership, and of the write side with its writer field. */
export const fieldRenewals: Renewals = renewals(renew, null);

/** The last request of an owner. `words`: the statuses of the script that mean that the hold was there. */
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

/** The arguments of every script that may pass a lock on. */
export function passingArgs({ channel, changes }: LockKeys, { settings, publish }: BatchContext): EndArgs {
  return {
    claimMs: settings.claimLeaseMs,
    aliveMs: settings.aliveMs,
    // Java gets its chance after so many hand-offs among our clients; a fleet without Java needs no limit.
    maxDirectRun: settings.javaPeers ? settings.maxDirectRun : -1,
    tokenTtlMs: settings.tokenTtlMs,
    waitMs: settings.fairLockWaitTimeoutMs,
    // Long enough for a reader to receive the message and ask, and short enough that a writer comes next soon. A heartbeat
    // notices the end of the turn.
    readersTurnMs: Math.max(50, Math.round(settings.heartbeatMs / 4)),
    publish,
    channel,
    changes,
  };
}

/**
 * Whether this waiter also has to listen to Redisson's channel: it is the first one and Java holds. A release by Java sends
 * nothing on our own channels. The waiters behind it do not listen there, so that one message costs one request.
 */
export function listensToJava(place: Queued): boolean {
  return place.position === 0 && place.holder !== "" && !isOurs(place.holder);
}
