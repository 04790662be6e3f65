import { type Static, Type } from "typebox";
import { BackendNameSchema, InstantSchema, Nullable, ParticipantSchema } from "./parts.js";

// The answers of the lasting history. It is there only if the configuration has `history`.

const strict = { additionalProperties: false } as const;

export const SpreadSchema = Type.Object(
  { p50: Nullable(Type.Number()), p99: Nullable(Type.Number()), max: Nullable(Type.Number()) },
  { description: "Ms. The percentiles are at most 19 % above what was measured; null: nothing was." },
);

/** The state of the store. */
export const HistoryStatusSchema = Type.Object({
  usedBytes: Type.Number(),
  maxBytes: Type.Number(),
  holdsSinceMs: Nullable(Type.Number({ description: "End of the oldest hold that is kept one by one." })),
  hoursSinceMs: Nullable(Type.Number({ description: "Begin of the oldest hour that is kept." })),
  dropped: Type.Number({ description: "Changes since the start that were not recorded." }),
  failure: Nullable(Type.String({ description: "What is wrong with the store; null when all is well." })),
});

/** GET history */
export const HistoryStateSchema = Type.Object({
  nowMs: InstantSchema,
  /** Null: no history is kept beyond this process. */
  history: Nullable(HistoryStatusSchema),
});

export const EndReasonSchema = Type.Enum(["released", "expired", "session-ended", "forced", "unknown"], {
  description: "How it ended. Unknown: nothing tells.",
});

export const PastHoldSchema = Type.Object({
  entry: Type.String(),
  session: ParticipantSchema.properties.session,
  identity: ParticipantSchema.properties.identity,
  token: Nullable(Type.String()),
  since: ParticipantSchema.properties.since,
  waitedMs: Nullable(Type.Number({ description: "How long it was waited for, as far as that was seen." })),
  endMs: Nullable(Type.Number({ description: "Null: it has not ended." })),
  reason: Nullable(EndReasonSchema),
  heldMs: Nullable(Type.Number({ description: "Where both ends were seen." })),
});

/** GET locks/:id/story */
export const StoryQuerySchema = Type.Object(
  {
    range: Type.Optional(Type.Enum(["hour", "day", "week"])),
    untilMs: Type.Optional(Type.Integer({ minimum: 0, description: "End of the range. Default: now." })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 })),
    cursor: Type.Optional(Type.String({ pattern: "^\\d{1,16}-\\d{1,16}$" })),
  },
  strict,
);
export const StorySchema = Type.Object({
  nowMs: InstantSchema,
  fromMs: InstantSchema,
  toMs: InstantSchema,
  firstSeenMs: Nullable(InstantSchema),
  /** Holds that have not ended; on the first page only. */
  open: Type.Array(PastHoldSchema),
  /** Newest end first. */
  holds: Type.Array(PastHoldSchema),
  next: Nullable(Type.String()),
  steps: Type.Array(
    Type.Object({
      fromMs: InstantSchema,
      toMs: InstantSchema,
      grants: Type.Number(),
      ends: Type.Number(),
      lost: Type.Number(),
      holdMs: SpreadSchema,
      waitMs: SpreadSchema,
      waiting: Type.Number({ description: "How many waited on average." }),
    }),
    { description: "By ten minutes for an hour, else by hours; without those in which nothing happened." },
  ),
  history: HistoryStatusSchema,
});

export const rankingSorts = [
  "held",
  "hold-max",
  "hold-p99",
  "wait-max",
  "wait-p99",
  "contended",
  "lost",
  "grants",
] as const;

/** GET ranking */
export const RankingQuerySchema = Type.Object(
  {
    by: Type.Optional(Type.Enum(["lock", "group", "owner"])),
    window: Type.Optional(Type.Enum(["hour", "day"])),
    sort: Type.Optional(Type.Enum([...rankingSorts])),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
    cluster: Type.Optional(Type.String()),
    group: Type.Optional(Type.String({ maxLength: 512, description: "Locks of this group alone." })),
  },
  strict,
);
export const RankedRowSchema = Type.Object({
  cluster: Type.String(),
  backend: Nullable(BackendNameSchema),
  name: Type.String(),
  lockId: Nullable(Type.String()),
  group: Nullable(Type.String()),
  grants: Type.Number(),
  ends: Type.Number(),
  lost: Type.Number({
    description: "Ends by expiry, by the end of a session, or by force from this dashboard.",
  }),
  heldMs: Type.Number({ description: "Within the window: all holds together, those that go on included." }),
  holdMs: SpreadSchema,
  waits: Type.Number({ description: "Grants that were waited for, as far as that was seen." }),
  waitedMs: Type.Number(),
  waitMs: SpreadSchema,
  waiting: Type.Number({ description: "How many waited on average." }),
  open: Type.Number({ description: "Holds that go on." }),
});
export const RankingSchema = Type.Object({
  nowMs: InstantSchema,
  fromMs: InstantSchema,
  rows: Type.Array(RankedRowSchema),
  total: Type.Number({ description: "With anything in that time." }),
  history: HistoryStatusSchema,
});

export type HistoryState = Static<typeof HistoryStateSchema>;
export type HistoryStatus = Static<typeof HistoryStatusSchema>;
export type PastHoldRow = Static<typeof PastHoldSchema>;
export type Story = Static<typeof StorySchema>;
export type StoryQuery = Static<typeof StoryQuerySchema>;
export type Ranking = Static<typeof RankingSchema>;
export type RankingQuery = Static<typeof RankingQuerySchema>;
export type RankedLock = Static<typeof RankedRowSchema>;
