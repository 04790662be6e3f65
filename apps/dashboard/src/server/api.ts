import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type TSchema, Type } from "typebox";
import type { AuditLog } from "../actions/audit-log.js";
import type { Actor, OperatorActions } from "../actions/operator-actions.js";
import type { CsrfTokens } from "../auth/csrf.js";
import {
  ActionAnswerSchema,
  ActionBodySchema,
  AuditSchema,
  BackendsSchema,
  ClustersSchema,
  DiscoveriesSchema,
  FindingsSchema,
  LockDetailSchema,
  LockHistorySchema,
  LocksQuerySchema,
  LocksSchema,
  MeSchema,
  MuteBodySchema,
  OverviewSchema,
  ProblemSchema,
  SchedulesSchema,
  SessionDetailSchema,
  SessionsSchema,
  WaitsSchema,
} from "../contract/api.js";
import type { LinkTemplate } from "../contract/link-templates.js";
import { FindingRowSchema } from "../contract/parts.js";
import { SharedDetails } from "../core/lock-detail.js";
import type { Observatory } from "../core/observatory.js";
import { messageOf, notFound, ProblemError } from "../core/problems.js";
import { type Access, principalOf } from "./access.js";

const IdSchema = Type.Object({ id: Type.String({ maxLength: 16_384 }) });
const strict = { additionalProperties: false } as const;

export interface ApiParts {
  readonly observatory: Observatory;
  readonly operatorActions: OperatorActions;
  readonly audit: AuditLog;
  readonly csrf: CsrfTokens;
  readonly actions: boolean;
  readonly history: boolean;
  readonly version: string;
  readonly links: readonly LinkTemplate[];
}

/**
 * The limit of reads in a minute: as many as a hundred open lists make, or twenty open pages of locks that change all
 * the time.
 */
const mostReads = 3_000;
/** The same for answers that are long or costly: as many as thirty open pages ask for, of those that ask most often. */
export const mostLists: number = 600;

/** Limits the requests of one name in a minute, for requests that are costly, have long answers or change something. */
export const sparingly = (max: number) => ({
  max,
  timeWindow: 60_000,
  keyGenerator: (request: FastifyRequest) => `${request.holdfastPrincipal?.name ?? ""} ${request.ip}`,
});

/** `most` limits the requests of one caller in a minute. */
function options<T extends TSchema>(access: Access, summary: string, answer: T, most?: number) {
  return {
    config: { access, api: true, ...(most === undefined ? {} : { rateLimit: sparingly(most) }) },
    schema: { summary, response: { 200: answer, "4xx": ProblemSchema, "5xx": ProblemSchema } },
  };
}

/** The routes of /api/v1, in the order of the contract. */
export function serveApi(root: FastifyInstance, parts: ApiParts): void {
  const { observatory, operatorActions, audit } = parts;
  const scope = root.withTypeProvider<TypeBoxTypeProvider>();
  scope.addHook("onSend", async (_request, reply) => {
    reply.header("cache-control", "no-store");
  });

  scope.get("/me", options("viewer", "Who is asking, and what they may do", MeSchema), (request) => {
    const principal = principalOf(request);
    return {
      // Only these fields, because the host's hook may have put others there that are not for the page.
      name: principal.name,
      role: principal.role,
      actions: parts.actions,
      history: parts.history,
      csrfToken: parts.csrf.of(principal),
      version: parts.version,
      links: parts.links.map(({ title, url, on }) => ({ title, url, on })),
    };
  });

  scope.get("/clusters", options("viewer", "How the clusters are", ClustersSchema), () => ({
    clusters: observatory.clusterRows(),
    nowMs: observatory.now(),
  }));

  // A name that is in no list is looked up at the backends.
  const list = options("viewer", "One page of the locks that match", LocksSchema, mostReads);
  scope.get("/locks", { ...list, schema: { ...list.schema, querystring: LocksQuerySchema } }, (request) =>
    observatory.locks(request.query),
  );

  const details = new SharedDetails(observatory, (role, action) =>
    operatorActions.mayAct({ name: null, role }, action),
  );
  const detail = options("viewer", "One lock with everybody, read anew", LockDetailSchema, mostReads);
  scope.get("/locks/:id", { ...detail, schema: { ...detail.schema, params: IdSchema } }, (request) =>
    details.of(request.params.id, principalOf(request).role),
  );

  const history = options("viewer", "Its last turns, and how long it was held", LockHistorySchema);
  scope.get(
    "/locks/:id/history",
    { ...history, schema: { ...history.schema, params: IdSchema } },
    (request) => observatory.history(request.params.id),
  );

  const act = options("operator", "Change a lock, or try out what that would do", ActionAnswerSchema, 30);
  scope.post(
    "/locks/:id/actions",
    {
      ...act,
      schema: {
        ...act.schema,
        params: IdSchema,
        body: ActionBodySchema,
        response: { ...act.schema.response, 409: ActionAnswerSchema },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { cluster, key } = observatory.locate(id);
      const answer = await operatorActions
        .act(id, request.body, actorOf(request))
        .finally(() => details.forget(cluster.name, key));
      return reply.code(answer.outcome === "conflict" ? 409 : 200).send(answer);
    },
  );

  const InClusterSchema = Type.Object({ cluster: Type.Optional(Type.String()) }, strict);
  const overview = options("viewer", "The numbers of the first page", OverviewSchema);
  scope.get(
    "/overview",
    { ...overview, schema: { ...overview.schema, querystring: InClusterSchema } },
    (request) => observatory.overview(request.query.cluster),
  );

  const sessions = options("viewer", "Sessions and clients", SessionsSchema, mostLists);
  scope.get(
    "/sessions",
    { ...sessions, schema: { ...sessions.schema, querystring: InClusterSchema } },
    (request) => observatory.sessions(request.query.cluster),
  );

  const session = options(
    "viewer",
    "One session, and what happens when it ends",
    SessionDetailSchema,
    mostLists,
  );
  scope.get(
    "/sessions/:id",
    { ...session, schema: { ...session.schema, params: IdSchema, querystring: InClusterSchema } },
    (request) => observatory.session(request.params.id, request.query.cluster),
  );

  scope.get("/backends", options("viewer", "Servers of the clusters", BackendsSchema, mostLists), () =>
    observatory.backends(),
  );

  scope.get("/findings", options("viewer", "What is wrong, and what was", FindingsSchema, mostLists), () =>
    observatory.findings.all(),
  );

  const mute = options("operator", "Do not show a finding as new for a while", FindingRowSchema, 30);
  scope.post(
    "/findings/:id/mute",
    { ...mute, schema: { ...mute.schema, params: IdSchema, body: MuteBodySchema } },
    async (request) => {
      const actor = actorOf(request);
      const { reason, forMs } = request.body;
      const row = await observatory.findings
        .mute(request.params.id, {
          reason,
          by: actor.principal.name ?? "anybody",
          untilMs: observatory.now() + forMs,
        })
        .catch((error: unknown) => {
          throw new ProblemError(
            503,
            "mutes-unavailable",
            `it cannot be written down, so nothing was muted: ${messageOf(error)}`,
          );
        });
      if (row === null) throw notFound("it is not there any more");
      await operatorActions.noteMute({ cluster: row.cluster, object: row.object ?? row.kind, reason }, actor);
      return row;
    },
  );

  const schedules = options("viewer", "Schedules and their last runs", SchedulesSchema, mostLists);
  scope.get(
    "/schedules",
    { ...schedules, schema: { ...schedules.schema, querystring: InClusterSchema } },
    (request) => observatory.schedules(request.query.cluster),
  );

  scope.get("/waits", options("viewer", "Who waits for whom", WaitsSchema, mostLists), () =>
    observatory.waits(),
  );

  const page = options("viewer", "Who did what, newest first", AuditSchema, mostLists);
  const AuditQuerySchema = Type.Object(
    {
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 100 })),
      cursor: Type.Optional(Type.String({ maxLength: 64 })),
    },
    strict,
  );
  scope.get("/audit", { ...page, schema: { ...page.schema, querystring: AuditQuerySchema } }, (request) =>
    audit.page(request.query.limit ?? 100, request.query.cursor),
  );

  const discover = options("operator", "Places that look as if locks were kept there", DiscoveriesSchema, 6);
  scope.get(
    "/discover",
    {
      ...discover,
      schema: { ...discover.schema, querystring: Type.Object({ cluster: Type.String() }, strict) },
    },
    (request) => observatory.discover(request.query.cluster),
  );
}

function actorOf(request: FastifyRequest): Actor {
  return { principal: principalOf(request), address: request.ip };
}
