import { type TSchema, Type } from "typebox";

// The parts of requests and answers, for server and page alike. Ids, zxids and tokens are text, because a number cannot
// hold them.

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** Epoch ms. */
export const InstantSchema = Type.Number({ description: "Epoch milliseconds." });

export const MomentSchema = Type.Object({
  atMs: Nullable(Type.Number()),
  provenance: Type.Union([Type.Literal("exact"), Type.Literal("at-least"), Type.Literal("unknown")]),
});

export const BackendNameSchema = Type.Union([Type.Literal("zookeeper"), Type.Literal("redis")]);

export const LockStateSchema = Type.Union([
  Type.Literal("held"),
  Type.Literal("contended"),
  Type.Literal("idle"),
]);

export const ParticipantSchema = Type.Object({
  entry: Type.String(),
  actor: Nullable(Type.String()),
  session: Nullable(Type.String()),
  identity: Nullable(
    Type.Object({
      label: Nullable(Type.String()),
      host: Nullable(Type.String()),
      pid: Nullable(Type.Number()),
    }),
  ),
  mayBeKept: Type.Boolean({
    description: "Its client may keep the lock for its next owner, so that perhaps no owner has it now.",
  }),
  address: Nullable(Type.String()),
  data: Nullable(Type.String()),
  mode: Type.Union([Type.Literal("exclusive"), Type.Literal("shared")]),
  permits: Type.Number(),
  position: Nullable(Type.Number()),
  since: MomentSchema,
  holdCount: Nullable(Type.Number()),
  remainingMs: Nullable(Type.Number()),
  lease: Type.Enum(["session", "renewing", "fixed", "not-renewing", "never-expires", "unknown"]),
  deadlineMs: Nullable(Type.Number()),
  token: Nullable(Type.String()),
  library: Type.String(),
});

export const LockRowSchema = Type.Object({
  id: Type.String({ description: "Names the lock in the API: cluster, backend and key in one word." }),
  cluster: Type.String(),
  backend: BackendNameSchema,
  key: Type.String(),
  kind: Nullable(Type.String()),
  libraries: Type.Array(Type.String()),
  state: LockStateSchema,
  holders: Type.Array(ParticipantSchema),
  holderCount: Type.Number(),
  waiterCount: Type.Number(),
  waiterUnit: Type.Union([Type.Literal("participants"), Type.Literal("connections"), Type.Literal("hidden")]),
  oldestWait: MomentSchema,
  oldestHold: MomentSchema,
  token: Nullable(Type.String()),
  limit: Nullable(Type.Number()),
  version: Type.String(),
  readMs: InstantSchema,
  denied: Nullable(Type.String()),
});

export const SourceSchema = Type.Object({
  source: Type.String(),
  state: Type.String(),
  coverage: Type.Number(),
  lastSuccessMs: Nullable(InstantSchema),
  nextTryMs: Nullable(InstantSchema),
  cost: Nullable(Type.String()),
  message: Nullable(Type.String()),
});

export const ClusterRowSchema = Type.Object({
  name: Type.String(),
  backend: BackendNameSchema,
  state: Type.Enum(["starting", "syncing", "ok", "stale", "down"]),
  locks: Type.Number(),
  coverage: Type.Number(),
  lastSuccessMs: Nullable(InstantSchema),
  sources: Type.Array(SourceSchema),
  schedules: Type.Boolean({ description: "Its schedules of `@holdfast/schedules` are shown." }),
});

export const ScheduleRowSchema = Type.Object({
  cluster: Type.String(),
  name: Type.String(),
  last: Nullable(
    Type.Object(
      {
        dueMs: InstantSchema,
        state: Type.Union([Type.Literal("running"), Type.Literal("done"), Type.Literal("failed")], {
          description: "`running` also where its replica died in the middle.",
        }),
        attempt: Type.Number(),
        by: Type.String({ description: "The replica." }),
        beganMs: Type.Number({ description: "Epoch ms, by the clock of that replica." }),
        endedMs: Nullable(Type.Number({ description: "Epoch ms, by the same clock." })),
        error: Nullable(Type.String()),
      },
      { description: "`null`: it has not run yet." },
    ),
  ),
});

export const FindingRowSchema = Type.Object({
  id: Type.String(),
  cluster: Type.String(),
  kind: Type.String(),
  severity: Type.Union([Type.Literal("info"), Type.Literal("warning"), Type.Literal("critical")]),
  object: Nullable(Type.String()),
  lockId: Nullable(Type.String()),
  sinceMs: InstantSchema,
  evidence: Type.String(),
  advice: Type.String(),
  muted: Nullable(Type.Object({ reason: Type.String(), by: Type.String(), untilMs: InstantSchema })),
});

export const HistoryRowSchema = Type.Object({
  atMs: InstantSchema,
  type: Type.Union([Type.Literal("granted"), Type.Literal("released")]),
  entry: Type.String(),
  token: Nullable(Type.String()),
  heldMs: Nullable(Type.Number()),
});

export const SessionRowSchema = Type.Object({
  id: Type.String(),
  cluster: Type.String(),
  backend: BackendNameSchema,
  server: Nullable(Type.String()),
  address: Nullable(Type.String()),
  identity: ParticipantSchema.properties.identity,
  timeoutMs: Nullable(Type.Number()),
  established: MomentSchema,
  lastSeen: MomentSchema,
  holdCount: Type.Number(),
  waitCount: Type.Number(),
  holds: Type.Array(Type.Object({ key: Type.String(), lockId: Type.String() }), {
    description: "The first ones: 20 in a list, 1,000 of one session.",
  }),
  waits: Type.Array(Type.Object({ key: Type.String(), lockId: Type.String() }), {
    description: "The first ones, as of `holds`.",
  }),
  state: Type.Union([Type.Literal("connected"), Type.Literal("suspended"), Type.Literal("unknown")]),
});

export const SessionContactSchema = Type.Object({
  id: Type.String(),
  state: SessionRowSchema.properties.state,
  timeoutMs: Nullable(Type.Number()),
  endsMs: Nullable(
    Type.Number({
      description: "Epoch ms by which a suspended session ends unless its client is back before.",
    }),
  ),
});

export const ServerRowSchema = Type.Object({
  name: Type.String(),
  role: Type.String(),
  reachable: Type.Boolean(),
  version: Nullable(Type.String()),
  facts: Type.Array(Type.Object({ name: Type.String(), value: Type.String(), warning: Type.Boolean() })),
});

export const AuditRowSchema = Type.Object({
  id: Type.String(),
  atMs: InstantSchema,
  actor: Type.String(),
  role: Type.String(),
  address: Type.String(),
  action: Type.String(),
  cluster: Type.String(),
  object: Type.String(),
  entry: Nullable(Type.String()),
  before: Nullable(Type.String({ description: "Version of the lock before." })),
  after: Nullable(Type.String()),
  reason: Type.String(),
  dryRun: Type.Boolean(),
  outcome: Type.String(),
});
