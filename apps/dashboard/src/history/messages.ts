import type { rankingSorts } from "../contract/history.js";
import type { GroupRule } from "../exporter/group-rules.js";

// What the dashboard and the worker that keeps its history say to each other.

/** Why a hold ended. `unknown`: nothing says why. */
export type EndReason = "released" | "expired" | "session-ended" | "forced" | "unknown";

/** In the order of the numbers under which the store keeps them. */
export const endReasons: readonly EndReason[] = ["unknown", "released", "expired", "session-ended", "forced"];

/** In the order of the numbers under which the store keeps them. */
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

/** What has happened. Times are epoch ms. */
export type Change =
  | (HoldAddress & {
      readonly type: "begun";
      /** The grant was not seen: it was found by looking. */
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
      /** It ended at that moment, as far as the backend tells, and was not found to have ended. */
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
  /** All holds of the cluster have been reported: what else an earlier process had seen is over. */
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
  /** Locks of this group alone. */
  readonly group: string | null;
}

export interface RankedRow {
  readonly cluster: string;
  /** `null` of owners and groups. */
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
  /** How many have waited on average. */
  readonly waiting: number;
  /** Holds that have not ended, which are in `heldMs` and in the longest hold too. */
  readonly open: number;
}

/** `null` where nothing was measured. */
export interface Spread {
  readonly p50: number | null;
  readonly p99: number | null;
  readonly max: number | null;
}

export interface RankingAnswer {
  readonly fromMs: number;
  readonly toMs: number;
  readonly rows: readonly RankedRow[];
  /** How many of that kind had anything in that time. */
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
  /** `null`: it has not ended. */
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
  /** The time from which on there can be something of the lock. */
  readonly firstSeenMs: number | null;
  readonly open: readonly PastHold[];
  /** Newest end first. */
  readonly holds: readonly PastHold[];
  readonly next: readonly [endMs: number, id: number] | null;
  /** Steps of ten minutes for a range of up to two hours, else of an hour; without those in which nothing was. */
  readonly steps: readonly StoryStep[];
}

export type Question = RankingQuestion | StoryQuestion;
export type AnswerTo<Q extends Question> = Q extends RankingQuestion ? RankingAnswer : StoryAnswer;

/** How the store is. */
export interface StoreStatus {
  readonly usedBytes: number;
  readonly maxBytes: number;
  /** The oldest that is kept: holds one by one, and what is counted by hours. */
  readonly holdsSinceMs: number | null;
  readonly hoursSinceMs: number | null;
  /** Changes that were not recorded. */
  readonly dropped: number;
  /** What is wrong; `null` when all is well. */
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
  /** It cannot be opened: a sentence for people. */
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
