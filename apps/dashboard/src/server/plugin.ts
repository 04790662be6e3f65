import { stat } from "node:fs/promises";
import { Socket } from "node:net";
import rateLimit from "@fastify/rate-limit";
import { TypeBoxValidatorCompiler } from "@fastify/type-provider-typebox";
import type { FastifyInstance, FastifyPluginAsync } from "fastify";
import { Registry } from "prom-client";
import { AuditLog } from "../actions/audit-log.js";
import { MinuteLimit } from "../actions/minute-limit.js";
import { OperatorActions } from "../actions/operator-actions.js";
import { Webhook } from "../actions/webhook.js";
import { Credentials, current } from "../auth/credentials.js";
import { CsrfTokens } from "../auth/csrf.js";
import { FailedLogins } from "../auth/failed-logins.js";
import { linkProblem } from "../core/link-check.js";
import { Mutes } from "../core/mutes.js";
import { Observatory } from "../core/observatory.js";
import { messageOf, notFound, ProblemError } from "../core/problems.js";
import { exporterMetrics } from "../exporter/index.js";
import { HistoryFeed } from "../history/feed.js";
import { lastingHistory } from "../history/lasting-history.js";
import { version } from "../version.js";
import { guardAccess } from "./access.js";
import { serveApi } from "./api.js";
import { serveEvents } from "./events-route.js";
import { serveExports } from "./export-routes.js";
import { serveHealth } from "./health.js";
import { serveHistory } from "./history-routes.js";
import { describeApi, serveOpenApi } from "./open-api.js";
import type { HoldfastOptions } from "./options.js";
import { BuiltPage, servePage } from "./page.js";
import { answerProblems } from "./problems.js";
import { refusalRow } from "./refusals.js";
import { secureHeaders } from "./secure-headers.js";
import { undrainedMs } from "./stream-client.js";
import { StreamHub } from "./stream-hub.js";
import { StreamRights } from "./stream-rights.js";

/** A lock's id is made of its name, which may be long. fastify's own limit for a part of a path is 100. */
export const longestParameter = 16_384;
const wrongCredentials = { most: 10, windowMs: 60_000 };
/** How many times as long a client has for a whole answer as it may take nothing of it: five minutes, as for an export. */
const limitsToTake = 10;
/** A longer timer of Node.js would ring at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * The whole dashboard as a plugin: `app.register(fastifyHoldfast, { prefix: "/locks", clusters, authenticate })`.
 * Everything that it needs (hooks, headers, error handler) stays in its own scope. The host must be made with
 * `routerOptions: { maxParamLength: longestParameter }`.
 */
export const fastifyHoldfast: FastifyPluginAsync<HoldfastOptions> = async (scope, options) => {
  check(scope, options);
  const { actions = false } = options;
  const log = scope.log;
  const webhook =
    options.audit?.webhook === undefined
      ? undefined
      : new Webhook({ ...options.audit.webhook, onFailure: (message) => log.warn(message) });
  const audit = await AuditLog.open({
    ...(options.audit?.file === undefined ? {} : { file: options.audit.file }),
    onRow: (row) => {
      log.info({ audit: row }, "audit");
      webhook?.send(row);
    },
  });
  const mutes = await openMutes(options.audit?.file, (why) => log.warn(why));
  const { ownFindings } = options;
  const history = lastingHistory(options.history);
  const observatory = new Observatory(options.clusters, {
    mutes,
    own: () => [...(ownFindings?.() ?? []), ...(history?.findings() ?? [])],
    ...(options.longHoldMs === undefined ? {} : { longHoldMs: options.longHoldMs }),
  });
  const feeds = new Map(
    history === undefined
      ? []
      : options.clusters.map((cluster) => [cluster.name, new HistoryFeed(history, cluster)]),
  );
  const hub = new StreamHub(observatory);
  const rights = new StreamRights(options.authenticateAgainMs);
  const registry = new Registry();
  const exporter = exporterMetrics(
    registry,
    {
      clusters: observatory.clusters,
      findings: () => observatory.findings.unmuted(),
      stream: () => hub.totals,
    },
    options.metrics,
  );
  // Streams never end by themselves, and a server that closes waits for its connections.
  scope.addHook("preClose", async () => hub.close());
  scope.addHook("onClose", async () => {
    hub.close();
    rights.close();
    for (const feed of feeds.values()) feed.close();
    observatory.close();
    exporter.close();
    await webhook?.drained();
    await mutes.close();
    await audit.close();
  });

  const csrf = new CsrfTokens();
  // Limited apart from the refusals of the audit, so that refusals of another kind hide no failed sign-in.
  const tries = new MinuteLimit(60);
  // The headers are added before the guard, so that its refusals have them too.
  await secureHeaders(scope);
  guardAccess(scope, {
    authenticate: options.authenticate,
    credentials: new Credentials({ users: options.users ?? [], tokens: options.tokens ?? [] }, Date.now),
    anonymous: options.anonymous ?? null,
    loopbackNames: options.loopbackNames ?? false,
    // This is not the wall clock: if that were set back, a caller would be kept out for that much longer.
    failedLogins: new FailedLogins({ ...wrongCredentials, now: () => performance.now() }),
    csrf,
    onRefused: (refused) => {
      const { request, claimedName } = refused;
      const nowMs = observatory.now();
      if (claimedName !== null && tries.lets(nowMs))
        request.log.warn({ address: request.ip, name: claimedName }, "wrong credentials");
      audit
        .refused(refusalRow(refused, nowMs))
        .catch((error: unknown) => log.error({ err: error }, "a line of the audit is lost"));
    },
  });
  answerProblems(scope);
  scope.setValidatorCompiler(TypeBoxValidatorCompiler);
  // Answers are made field by field. Checking each again by its schema would cost more than making it.
  scope.setSerializerCompiler(() => JSON.stringify);
  if (!scope.hasDecorator("createRateLimit"))
    await scope.register(rateLimit, {
      global: false,
      errorResponseBuilder: (_request, { after }) =>
        new ProblemError(429, "too-many-requests", `too many of these; wait ${after}`),
    });

  // What a client does not read of an answer would stay in memory for ever. Streams and exports have limits of their
  // own.
  scope.addHook("onSend", async (request, reply, payload) => {
    if (typeof payload !== "string") return;
    // An injected request has no such connection.
    if (!(request.raw.socket instanceof Socket)) return;
    const limitMs = options.undrainedMs ?? undrainedMs;
    request.raw.socket.setTimeout(limitMs);
    // That limit begins anew with each piece that is taken, so a client could take hours over an answer.
    const timer = setTimeout(
      () => reply.raw.destroy(),
      Math.min(limitsToTake * limitMs, longestTimerMs),
    ).unref();
    reply.raw.once("close", () => clearTimeout(timer));
  });

  serveHealth(scope, observatory);
  scope.get(
    "/metrics",
    {
      schema: { hide: true },
      config: { access: options.publicMetrics === true ? "public" : "viewer" },
    },
    async (_request, reply) =>
      reply
        .type(registry.contentType)
        .header("cache-control", "no-store")
        .send(await registry.metrics()),
  );
  await scope.register(
    async (api) => {
      await describeApi(api, version);
      const operatorActions = new OperatorActions({
        observatory,
        audit,
        enabled: actions,
        onForced: (cluster, key, entries) => feeds.get(cluster)?.forced(key, entries),
        onOutcome: (what) => exporter.onAction(what),
        onLostLine: (row, error) => log.error({ err: error, audit: row }, "a line of the audit is lost"),
      });
      serveApi(api, {
        observatory,
        operatorActions,
        audit,
        csrf,
        actions,
        history: history !== undefined,
        version,
        links: options.links ?? [],
      });
      serveHistory(api, observatory, history);
      serveEvents(api, hub, {
        undrainedMs: options.undrainedMs,
        perCaller: options.streamsPerCaller,
        rights,
      });
      serveExports(api, { observatory, audit, rights });
      serveOpenApi(api);
      api.all("/*", { schema: { hide: true }, config: { access: "viewer", api: true } }, () => {
        throw notFound("there is no such thing in the API; see openapi.json");
      });
    },
    { prefix: "/api/v1" },
  );
  servePage(scope, await BuiltPage.load(options.pageDirectory), version);
  scope.all("/*", { schema: { hide: true }, config: { access: "viewer" } }, () => {
    throw notFound("there is no such page");
  });
};

/** Opens the mutes. If the audit is written to a file, they are written to a file beside it. */
async function openMutes(audit: string | undefined, warn: (message: string) => void): Promise<Mutes> {
  const now = Date.now;
  if (audit === undefined || !(await stat(audit)).isFile()) return new Mutes({ now });
  const file = `${audit}.mutes`;
  try {
    return await Mutes.open({ file, now });
  } catch (error) {
    warn(`mutes end with this process: ${messageOf(error)}`);
    return new Mutes({ now });
  }
}

function check(scope: FastifyInstance, options: HoldfastOptions): void {
  const names = options.clusters.map(({ name }) => name);
  const odd = names.find(
    (name, index) => name === "" || name.includes("\0") || names.indexOf(name) !== index,
  );
  if (odd !== undefined)
    throw new Error(
      `fastifyHoldfast: ${JSON.stringify(odd)} cannot be the name of a cluster, or is one twice`,
    );
  const { authenticate, users = [], tokens = [], anonymous } = options;
  const known = current(users).length + current(tokens).length;
  if (authenticate === undefined && known === 0 && anonymous === undefined)
    throw new Error("fastifyHoldfast: say who may come in: authenticate, users, tokens or anonymous");
  for (const link of options.links ?? []) {
    const problem = linkProblem(link);
    if (problem !== null) throw new Error(`fastifyHoldfast: links: ${link.title}: ${problem}`);
  }
  const limit = scope.initialConfig.routerOptions?.maxParamLength ?? 100;
  if (limit < longestParameter)
    throw new Error(
      `fastifyHoldfast: make the server with routerOptions: { maxParamLength: ${longestParameter} }, or the ids of locks with long names lead nowhere (it is ${limit})`,
    );
}
