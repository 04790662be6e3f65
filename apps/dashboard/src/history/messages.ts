import type { rankingSorts } from "../contract/history.js";
import type { GroupRule } from "../exporter/group-rules.js";

// The messages between the dashboard and the worker that keeps its history.

/** Why a hold ended. `unknown`: the reason cannot be told. */
export type EndReason = "released" | "expired" | "session-ended" | "forced" | "unknown";

/** In the order of the numbers by which the store keeps them. */
export const endReasons: readonly EndReason[] = ["unknown", "released", "expired", "session-ended", "forced"];

/** In the order of the numbers by which the store keeps them. */
export const subjectKinds = ["lock", "group", "owner"] as const;
export type SubjectKind = (typeof subjectKinds)[number];

/** The present or former owner of a hold, as far as it is known. */
export interface KnownOwner {
  readonly session: string | null;
  readonly label: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly token: string | null;
}

/** One hold of one lock. */
export interface HoldAddress {
  readonly cluster: string;
  readonly backend: "zookeeper" | "redis";
  readonly key: string;
  readonly entry: string;
}

/** A change to record. Times are epoch ms. */
export type Change =
  | (HoldAddress & {
      readonly type: "begun";
      /** The grant was not seen: the hold was found by looking. */
      readonly found: boolean;
      readonly sinceMs: number;
      /** `sinceMs` is the time of the grant, and not only of the first sight. */
      readonly exact: boolean;
      readonly waitedMs: number | null;
      readonly owner: KnownOwner | null;
    })
  | (HoldAddress & { readonly type: "identified"; readonly owner: KnownOwner })
  | (HoldAddress & {
      readonly type: "ended";
      readonly atMs: number;
      /** The hold ended at that moment, as far as the backend tells. False if its end was only found later. */
      readonly seen: boolean;
      readonly heldMs: number | null;
      readonly reason: EndReason;
      readonly owner: KnownOwner | null;
    })
  /** Why the last hold of that entry, which has ended, came to its end. */
  | (HoldAddress & { readonly type: "explained"; readonly reason: EndReason })
  /** The lock had so many waiters for so long. */
  | (Omit<HoldAddress, "entry"> & {
      readonly type: "waiting";
      readonly waiters: number;
      readonly forMs: number;
    })
  /** All holds of the cluster have been reported: every other hold that an earlier process had seen is over. */
  | { readonly type: "complete"; readonly cluster: string; readonly atMs: number };

export const rankingWindows = { hour: 3_600_000, day: 86_400_000 } as const;
export type RankingWindow = keyof typeof rankingWindows;

export type RankingSort = (typeof rankingSorts)[number];

export interface RankingQuestion {
  readonly ask: "ranking";
  readonly kind: SubjectKind;
  readonly window: RankingWindow;
  readonly sort: RankingSort;
  readonly limit: number;
  readonly cluster: string | null;
  /** Only locks of this group. */
  readonly group: string | null;
}

export interface RankedRow {
  readonly cluster: string;
  /** `null` for owners and groups. */
  readonly backend: "zookeeper" | "redis" | null;
  readonly name: string;
  /** The group of a lock; `null` for owners and groups. */
  readonly group: string | null;
  readonly grants: number;
  readonly ends: number;
  readonly lost: number;
  readonly heldMs: number;
  readonly holdMs: Spread;
  readonly waits: number;
  readonly waitedMs: number;
  readonly waitMs: Spread;
  /** How many waited on average. */
  readonly waiting: number;
  /** Holds that have not ended. They are part of `heldMs` and of the longest hold. */
  readonly open: number;
}

/** `null` if nothing was measured. */
export interface Spread {
  readonly p50: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

export interface RankingAnswer {
  readonly fromMs: number;
  readonly toMs: number;
  readonly rows: readonly RankedRow[];
  /** How many subjects of that kind had anything in that time. */
  readonly total: number;
}

export interface StoryQuestion {
  readonly ask: "story";
  readonly cluster: string;
  readonly key: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly limit: number;
  /** The `next` of an earlier answer. */
  readonly after: readonly [endMs: number, id: number] | null;
}

export interface PastHold {
  readonly entry: string;
  readonly owner: KnownOwner;
  readonly sinceMs: number | null;
  readonly exact: boolean;
  readonly waitedMs: number | null;
  /** `null` if it has not ended. */
  readonly endMs: number | null;
  readonly reason: EndReason | null;
  readonly heldMs: number | null;
}

export interface StoryStep {
  readonly fromMs: number;
  readonly toMs: number;
  readonly grants: number;
  readonly ends: number;
  readonly lost: number;
  readonly holdMs: Spread;
  readonly waitMs: Spread;
  readonly waiting: number;
}

export interface StoryAnswer {
  /** The time from which on there may be records of the lock. */
  readonly firstSeenMs: number | null;
  readonly open: readonly PastHold[];
  /** Newest end first. */
  readonly holds: readonly PastHold[];
  readonly next: readonly [endMs: number, id: number] | null;
  /**
   * Steps of ten minutes for a range of up to two hours, else of an hour. Steps in which nothing happened are left out.
   */
  readonly steps: readonly StoryStep[];
}

export type Question = RankingQuestion | StoryQuestion;
export type AnswerTo<Q extends Question> = Q extends RankingQuestion ? RankingAnswer : StoryAnswer;

/** The state of the store. */
export interface StoreStatus {
  readonly usedBytes: number;
  readonly maxBytes: number;
  /** The oldest time that is kept: of single holds, and of what is counted by hours. */
  readonly holdsSinceMs: number | null;
  readonly hoursSinceMs: number | null;
  /** How many changes were not recorded. */
  readonly dropped: number;
  /** What is wrong; `null` if all is well. */
  readonly failure: string | null;
}

/** A hold that had not ended when it was last written. */
export interface OpenHold {
  readonly cluster: string;
  readonly key: string;
  readonly entry: string;
  readonly token: string | null;
  readonly sinceMs: number;
}

export interface WorkerOptions {
  readonly file: string;
  readonly maxBytes: number;
  readonly groups: readonly GroupRule[];
}

export type ToWorker =
  | { readonly type: "changes"; readonly changes: readonly Change[]; readonly dropped: number }
  | { readonly type: "question"; readonly id: number; readonly question: Question; readonly untilMs: number }
  | { readonly type: "close" };

export type FromWorker =
  | { readonly type: "opened"; readonly open: readonly OpenHold[]; readonly status: StoreStatus }
  /** The file cannot be opened; the message is a sentence for people. */
  | { readonly type: "refused"; readonly message: string }
  | { readonly type: "written"; readonly status: StoreStatus }
  | { readonly type: "answer"; readonly id: number; readonly answer: RankingAnswer | StoryAnswer }
  | {
      readonly type: "unanswered";
      readonly id: number;
      readonly why: "reading" | "late" | "failed";
      readonly message: string;
    }
  | { readonly type: "closed" };
