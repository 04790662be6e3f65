import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance } from "fastify";
import { type TSchema, Type } from "typebox";
import { ProblemSchema } from "../contract/api.js";
import {
  HistoryStateSchema,
  type PastHoldRow,
  type Ranking,
  RankingQuerySchema,
  RankingSchema,
  type Story,
  StoryQuerySchema,
  StorySchema,
} from "../contract/history.js";
import { lockIdOf } from "../core/lock-id.js";
import type { Observatory } from "../core/observatory.js";
import { ProblemError } from "../core/problems.js";
import type { LastingHistory } from "../history/lasting-history.js";
import type { PastHold } from "../history/messages.js";
import { mostLists, sparingly } from "./api.js";

const rangesMs = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const;

function options<T extends TSchema>(summary: string, answer: T) {
  return {
    config: { access: "viewer" as const, api: true, rateLimit: sparingly(mostLists) },
    schema: { summary, response: { 200: answer, "4xx": ProblemSchema, "5xx": ProblemSchema } },
  };
}

/** The routes of the lasting history. Without a history file they answer that there is none. */
export function serveHistory(
  root: FastifyInstance,
  observatory: Observatory,
  history: LastingHistory | undefined,
): void {
  const scope = root.withTypeProvider<TypeBoxTypeProvider>();
  const kept = (): LastingHistory => {
    if (history === undefined)
      throw new ProblemError(404, "no-history", "no history is kept: the configuration has no history.file");
    return history;
  };

  scope.get("/history", options("How the lasting history is", HistoryStateSchema), () => ({
    nowMs: observatory.now(),
    history: history?.status ?? null,
  }));

  const story = options("What one lock did in an hour, a day or a week", StorySchema);
  const IdSchema = Type.Object({ id: Type.String({ maxLength: 16_384 }) });
  scope.get(
    "/locks/:id/story",
    { ...story, schema: { ...story.schema, params: IdSchema, querystring: StoryQuerySchema } },
    async (request): Promise<Story> => {
      const { cluster, key } = observatory.locate(request.params.id);
      const { range = "day", untilMs, limit = 100, cursor } = request.query;
      const nowMs = observatory.now();
      const toMs = Math.min(untilMs ?? nowMs, nowMs);
      const fromMs = toMs - rangesMs[range];
      const after = cursor?.split("-").map(Number);
      const found = await kept().ask({
        ...{ ask: "story", cluster: cluster.name, key, fromMs, toMs, limit },
        after: after === undefined ? null : [after[0] ?? 0, after[1] ?? 0],
      });
      return {
        ...{ nowMs, fromMs, toMs, firstSeenMs: found.firstSeenMs },
        open: cursor === undefined ? found.open.map(holdRow) : [],
        holds: found.holds.map(holdRow),
        next: found.next === null ? null : found.next.join("-"),
        steps: [...found.steps],
        history: kept().status,
      };
    },
  );

  const ranking = options("Locks, groups or owners that held or waited most", RankingSchema);
  scope.get(
    "/ranking",
    { ...ranking, schema: { ...ranking.schema, querystring: RankingQuerySchema } },
    async (request): Promise<Ranking> => {
      const { by = "lock", window = "day", sort = "held", limit = 50, cluster, group } = request.query;
      const found = await kept().ask({
        ...{ ask: "ranking", kind: by, window, sort, limit },
        ...{ cluster: cluster ?? null, group: group ?? null },
      });
      return {
        ...{ nowMs: found.toMs, fromMs: found.fromMs, total: found.total },
        rows: found.rows.map((row) => ({
          ...row,
          lockId:
            row.backend === null
              ? null
              : lockIdOf({ cluster: row.cluster, backend: row.backend, key: row.name }),
        })),
        history: kept().status,
      };
    },
  );
}

function holdRow({ entry, owner, sinceMs, exact, waitedMs, endMs, reason, heldMs }: PastHold): PastHoldRow {
  const { session, label, host, pid, token } = owner;
  const says = label !== null || host !== null || pid !== null;
  return {
    ...{ entry, session, token, waitedMs, endMs, reason, heldMs },
    identity: says ? { label, host, pid } : null,
    since: { atMs: sinceMs, provenance: sinceMs === null ? "unknown" : exact ? "exact" : "at-least" },
  };
}
