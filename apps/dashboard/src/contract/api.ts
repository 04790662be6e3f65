import { type Static, Type } from "typebox";
import {
  AuditRowSchema,
  BackendNameSchema,
  ClusterRowSchema,
  FindingRowSchema,
  HistoryRowSchema,
  InstantSchema,
  LockRowSchema,
  LockStateSchema,
  Nullable,
  ParticipantSchema,
  ScheduleRowSchema,
  ServerRowSchema,
  SessionContactSchema,
  SessionRowSchema,
} from "./parts.js";

// The requests and answers of /api/v1, one schema each. Paths are relative to the base under which the dashboard is
// served.

/** GET me: who sends the request, and what they may do. */
export const MeSchema = Type.Object({
  name: Nullable(Type.String()),
  role: Type.Union([Type.Literal("viewer"), Type.Literal("operator"), Type.Literal("admin")]),
  /** `false`: actions are switched off for all users. */
  actions: Type.Boolean(),
  /** `true`: the history of locks is kept in a file, and `ranking` and `locks/:id/story` answer. */
  history: Type.Boolean(),
  /** Must be sent as `x-csrf-token` with every method but GET. */
  csrfToken: Type.String(),
  version: Type.String(),
  links: Type.Array(
    Type.Object({ title: Type.String(), url: Type.String(), on: Type.Enum(["lock", "owner", "session"]) }),
    { description: "Templates of links that lead out of the dashboard, with placeholders such as {host}." },
  ),
});

/** GET clusters */
export const ClustersSchema = Type.Object({ clusters: Type.Array(ClusterRowSchema), nowMs: InstantSchema });

/** GET overview */
export const OverviewSchema = Type.Object({
  nowMs: InstantSchema,
  held: Type.Number(),
  contended: Type.Number(),
  waiting: Type.Number(),
  oldestWaitMs: Nullable(Type.Number()),
  grantsPerSecond: Type.Number(),
  /** Holds that their owners did not release, as far as can be seen, within the last hour or since the start. */
  lost: Type.Object({ count: Type.Number(), sinceMs: InstantSchema }),
  hot: Type.Array(LockRowSchema),
  clusters: Type.Array(ClusterRowSchema),
  findings: Type.Array(FindingRowSchema),
  /** One point for each 5 s of the last 10 minutes, oldest first. */
  series: Type.Array(
    Type.Object({ atMs: InstantSchema, waiting: Type.Number(), held: Type.Number(), grants: Type.Number() }),
  ),
});

/** GET locks */
export const LocksQuerySchema = Type.Object(
  {
    cluster: Type.Optional(Type.String()),
    backend: Type.Optional(BackendNameSchema),
    /** Part of the key, or a glob with `*` and `?`. */
    q: Type.Optional(Type.String({ maxLength: 512 })),
    state: Type.Optional(LockStateSchema),
    kind: Type.Optional(Type.String()),
    owner: Type.Optional(Type.String({ maxLength: 512 })),
    minAgeMs: Type.Optional(Type.Integer({ minimum: 0 })),
    sort: Type.Optional(Type.Enum(["waiters", "hold", "wait", "name"])),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 })),
    cursor: Type.Optional(Type.String({ maxLength: 16_384 })),
  },
  { additionalProperties: false },
);
export const LocksSchema = Type.Object({
  nowMs: InstantSchema,
  rows: Type.Array(LockRowSchema),
  /** How many match. */
  total: Type.Number(),
  /** How many are known. */
  known: Type.Number(),
  coverage: Type.Number(),
  lastFullMs: Nullable(InstantSchema),
  next: Nullable(Type.String()),
});

/** GET locks/:id */
export const LockDetailSchema = Type.Object({
  nowMs: InstantSchema,
  lock: LockRowSchema,
  waiters: Type.Array(ParticipantSchema),
  fromMemory: Type.Boolean({
    description:
      "True: the backend could not be read. `lock` is what was known last, and `waiters` is empty because they are not known.",
  }),
  contacts: Type.Array(SessionContactSchema, {
    description:
      "Of the sessions that hold it, as far as the backend tells whether their clients are connected.",
  }),
  raw: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
  explain: Type.Array(Type.String()),
  findings: Type.Array(FindingRowSchema),
  /**
   * What may be done to the lock here and now, and what each action would do: one sentence for each participant
   * concerned.
   */
  actions: Type.Array(
    Type.Object({
      action: Type.String(),
      entry: Nullable(Type.String()),
      role: Type.String(),
      effects: Type.Array(Type.String()),
      /** The action needs `library: "unknown"`, because no known library has made what it acts on. */
      unknownLibrary: Type.Boolean(),
    }),
  ),
});

/** GET locks/:id/history, newest first. */
export const LockHistorySchema = Type.Object({
  /** The start of the dashboard, or a later moment before which turns of this lock may have been forgotten. */
  sinceMs: InstantSchema,
  rows: Type.Array(HistoryRowSchema),
  /**
   * The bounds are upper bounds in ms. Each count has the holds that were no longer than its bound and longer than the
   * bound before.
   */
  holdHistogram: Type.Array(Type.Object({ leMs: Nullable(Type.Number()), count: Type.Number() })),
});

/** GET sessions, sessions/:id */
export const SessionsSchema = Type.Object({
  nowMs: InstantSchema,
  rows: Type.Array(SessionRowSchema),
  messages: Type.Array(Type.String()),
});
export const SessionDetailSchema = Type.Object({
  nowMs: InstantSchema,
  session: SessionRowSchema,
  /** What happens when the session ends: locks that are released, and waiters that move up. */
  released: Type.Number(),
  movedUp: Type.Number(),
  /** Why some of its data is not known. */
  messages: Type.Array(Type.String()),
});

/** GET backends */
export const BackendsSchema = Type.Object({
  nowMs: InstantSchema,
  clusters: Type.Array(
    Type.Object({
      cluster: ClusterRowSchema,
      servers: Type.Array(ServerRowSchema),
      message: Nullable(Type.String()),
    }),
  ),
});

/** GET findings */
export const FindingsSchema = Type.Object({
  nowMs: InstantSchema,
  rows: Type.Array(FindingRowSchema),
  past: Type.Array(FindingRowSchema),
});

/** GET schedules: the last run of each schedule, by cluster and name. */
export const SchedulesSchema = Type.Object({
  nowMs: InstantSchema,
  rows: Type.Array(ScheduleRowSchema),
  /** Which clusters could not be asked, and why. */
  messages: Type.Array(Type.String()),
});

/** GET waits: who waits for whom, at contended locks. */
export const WaitsSchema = Type.Object({
  nowMs: InstantSchema,
  actors: Type.Array(
    Type.Object({
      actor: Type.String(),
      label: Type.String(),
      cluster: Type.String(),
      waiters: Type.Number(),
    }),
  ),
  edges: Type.Array(
    Type.Object({
      from: Type.String(),
      to: Type.String(),
      lockId: Type.String(),
      key: Type.String(),
      cluster: Type.String(),
      deadlineMs: Nullable(InstantSchema),
    }),
  ),
  cycles: Type.Array(
    Type.Object({
      /**
       * Each actor waits for the next one at the lock of the same index in `lockIds`; the last one waits for the first.
       */
      actors: Type.Array(Type.String()),
      lockIds: Type.Array(Type.String()),
      /**
       * Certain: the cycle is among threads. Possible: it is among sessions and processes, where one part may hold and
       * another wait.
       */
      certainty: Type.Union([Type.Literal("possible"), Type.Literal("certain")]),
      /** The moment of the first deadline, at which the cycle ends by itself. */
      resolvesMs: Nullable(InstantSchema),
    }),
  ),
  /** What the graph leaves out because it cannot be seen or is too much: one sentence each. */
  blind: Type.Array(
    Type.Object({
      /** `null`: it may concern any cluster. */
      cluster: Nullable(Type.String()),
      message: Type.String(),
    }),
  ),
});

/** GET audit */
export const AuditSchema = Type.Object({ rows: Type.Array(AuditRowSchema), next: Nullable(Type.String()) });

/** POST locks/:id/actions */
export const ActionBodySchema = Type.Object(
  {
    action: Type.Enum(["request-revoke", "evict-waiter", "force-release", "clean-orphan"]),
    entry: Type.Optional(Nullable(Type.String())),
    expectedVersion: Type.String(),
    /** The key of the lock, typed by the operator. */
    confirmation: Type.String(),
    /** Typed as well if no known library has made what the action is about. Without it such an action is denied. */
    library: Type.Optional(Type.Literal("unknown")),
    reason: Type.String({ minLength: 3, maxLength: 500 }),
    dryRun: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);
/** The answer has status 200, or 409 with `outcome: "conflict"`. */
export const ActionAnswerSchema = Type.Object({
  outcome: Type.String(),
  effects: Type.Array(Type.String()),
  before: Nullable(LockRowSchema),
  after: Nullable(LockRowSchema),
  auditId: Type.String(),
  /** For a dry run: the action needs `library: "unknown"`. */
  unknownLibrary: Type.Boolean(),
});

/** POST findings/:id/mute */
export const MuteBodySchema = Type.Object(
  {
    reason: Type.String({ minLength: 3, maxLength: 500 }),
    forMs: Type.Integer({ minimum: 60_000, maximum: 2_592_000_000 }),
  },
  { additionalProperties: false },
);

/** GET discover?cluster= */
export const DiscoveriesSchema = Type.Object({
  rows: Type.Array(
    Type.Object({ root: Type.String(), locks: Type.Number(), libraries: Type.Array(Type.String()) }),
  ),
});

/** Every answer with status 400 and above. */
export const ProblemSchema = Type.Object({
  error: Type.String({ description: "One word to program against." }),
  message: Type.String(),
});

/**
 * GET events (server-sent): `rows=<ids>` keeps those rows fresh, `overview=1` and `findings=1` add theirs. Event names
 * and data: `hello` {nowMs}; `locks` LockRow[] (changed rows among those asked for); `gone` string[] (ids); `changes`
 * {count} (rows of the filter that changed and were not asked for); `overview` Overview; `findings` FindingRow[];
 * `clusters` ClusterRow[].
 */
export const EventsQuerySchema = Type.Object(
  {
    rows: Type.Optional(Type.String({ maxLength: 65_536 })),
    overview: Type.Optional(Type.String()),
    findings: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);

export type Me = Static<typeof MeSchema>;
export type Overview = Static<typeof OverviewSchema>;
export type LockRow = Static<typeof LockRowSchema>;
export type Participant = Static<typeof ParticipantSchema>;
export type ClusterRow = Static<typeof ClusterRowSchema>;
export type FindingRow = Static<typeof FindingRowSchema>;
export type HistoryRow = Static<typeof HistoryRowSchema>;
export type ScheduleRow = Static<typeof ScheduleRowSchema>;
export type SessionRow = Static<typeof SessionRowSchema>;
export type SessionContact = Static<typeof SessionContactSchema>;
export type ServerRow = Static<typeof ServerRowSchema>;
export type AuditRow = Static<typeof AuditRowSchema>;
export type LocksQuery = Static<typeof LocksQuerySchema>;
export type Locks = Static<typeof LocksSchema>;
export type LockDetail = Static<typeof LockDetailSchema>;
export type LockHistory = Static<typeof LockHistorySchema>;
export type Sessions = Static<typeof SessionsSchema>;
export type SessionDetail = Static<typeof SessionDetailSchema>;
export type Backends = Static<typeof BackendsSchema>;
export type Clusters = Static<typeof ClustersSchema>;
export type Findings = Static<typeof FindingsSchema>;
export type Schedules = Static<typeof SchedulesSchema>;
export type Waits = Static<typeof WaitsSchema>;
export type Audit = Static<typeof AuditSchema>;
export type ActionBody = Static<typeof ActionBodySchema>;
export type ActionAnswer = Static<typeof ActionAnswerSchema>;
export type MuteBody = Static<typeof MuteBodySchema>;
export type Discoveries = Static<typeof DiscoveriesSchema>;
export type Problem = Static<typeof ProblemSchema>;
