import { validateHeaderValue } from "node:http";
import { createServer } from "node:net";
import type { FastifyBaseLogger } from "fastify";
import { isLoopbackName } from "./auth/origin.js";
import type { Principal } from "./auth/roles.js";
import { checkCollectors, makeCollectors } from "./collectors.js";
import { checkConfig } from "./config/check.js";
import { ConfigError } from "./config/config-error.js";
import { checkAppendable } from "./config/places.js";
import type { DashboardConfig, Secret } from "./config/schema.js";
import { readSecret, type SecretSource } from "./config/secrets.js";
import { SignInFiles, type SignInLog } from "./config/sign-in-files.js";
import type { NamedCollector } from "./core/cluster-row.js";
import { messageOf } from "./core/problems.js";
import { groupByRules } from "./exporter/group-rules.js";
import type { ExporterOptions } from "./exporter/index.js";
import { LastingHistory } from "./history/lasting-history.js";
import type { Authenticate } from "./server/access.js";
import { serverOf } from "./server/http-server.js";
import type { HoldfastOptions } from "./server/options.js";
import { fastifyHoldfast } from "./server/plugin.js";

/** What `startDashboard()` takes besides the configuration. */
export interface StartOptions {
  /** Paths in the configuration are relative to this directory. Default: the working directory. */
  readonly directory?: string;
  /** Where `{ env }` is looked up. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** More collectors to show. The caller makes and closes them. */
  readonly collectors?: readonly NamedCollector[];
  /** Counts as authentication: with it the server may listen at any address. */
  readonly authenticate?: Authenticate;
  /** Default: nothing is logged. `true`: JSON lines to the standard output. */
  readonly log?: boolean | FastifyBaseLogger;
  /** The built page; default: the one in this package. */
  readonly pageDirectory?: string;
}

/** A dashboard that listens. */
export interface RunningDashboard {
  /** The address at which it listens, with the base path and a slash at the end. */
  readonly url: string;
  /**
   * Reads the users and tokens again at once. It never rejects: if a file cannot be read or is wrong, its earlier
   * content stays in force, and the problem is reported in the log and as a finding. Without this call, changed files
   * are read again within two seconds.
   */
  reread(): Promise<void>;
  /** Ends streams and requests, and then closes the collectors that it has made. */
  close(): Promise<void>;
}

/** Serves the dashboard. @throws ConfigError */
export async function startDashboard(
  config: DashboardConfig,
  options: StartOptions = {},
): Promise<RunningDashboard> {
  const source = { directory: options.directory ?? process.cwd(), env: options.env ?? process.env };
  const app = serverOf(checkConfig(config), options.log ?? false);
  const warned = { ...source, warn: (message: string) => app.log.warn(message) };
  const { plugin, host, port, signIn } = await resolveConfig(config, options, warned, app.log);
  const history = await openHistory(config, warned.directory);
  const made = await makeCollectors(config, warned, history).catch(async (error: unknown) => {
    await history?.close();
    throw error;
  });
  const close = async (): Promise<void> => {
    signIn.close();
    await app.close();
    await Promise.all(made.map(({ collector }) => collector.close()));
    await history?.close();
  };
  try {
    const prefix = (config.basePath ?? "/").replace(/\/$/, "");
    await app.register(fastifyHoldfast, {
      ...plugin,
      ...(prefix === "" ? {} : { prefix }),
      ...(history === undefined ? {} : { history }),
      clusters: [...made, ...(options.collectors ?? [])],
    });
    await app.listen({ host, port });
    const address = app.server.address();
    const bound = typeof address === "object" && address !== null ? address.port : port;
    const name = host.includes(":") ? `[${host}]` : host;
    signIn.start();
    return { url: `http://${name}:${bound}${prefix}/`, reread: () => signIn.reread(), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Checks everything about a configuration that can be checked without connecting to a backend. @throws ConfigError */
export async function checkDashboard(config: DashboardConfig, source: SecretSource): Promise<void> {
  const silent = { info: () => {}, warn: () => {} };
  const { host, port } = await resolveConfig(checkConfig(config), {}, source, silent);
  if (config.history !== undefined) {
    const file = await checkAppendable("history.file", config.history.file, source.directory);
    // Loaded only here on this thread, because only dashboards that keep a history need it.
    const { checkDatabase } = await import("./history/database.js");
    try {
      checkDatabase(file);
    } catch (error) {
      throw new ConfigError(`history.file: ${messageOf(error)}`);
    }
  }
  await checkCollectors(config, source);
  await canListen(host, port);
}

/** @throws ConfigError */
async function openHistory(
  { history, metrics = {}, groups = metrics.groups }: DashboardConfig,
  directory: string,
): Promise<LastingHistory | undefined> {
  if (history === undefined) return undefined;
  const file = await checkAppendable("history.file", history.file, directory);
  return await LastingHistory.open({
    file,
    ...(history.maxMegabytes === undefined ? {} : { maxMegabytes: history.maxMegabytes }),
    ...(groups === undefined ? {} : { groups }),
  });
}

interface Resolved {
  readonly plugin: Omit<HoldfastOptions, "clusters">;
  readonly host: string;
  readonly port: number;
  readonly signIn: SignInFiles;
}

async function resolveConfig(
  config: DashboardConfig,
  options: StartOptions,
  source: SecretSource,
  log: SignInLog,
): Promise<Resolved> {
  const { auth = {}, actions = false, audit = {} } = config;
  if (config.metrics?.groups !== undefined)
    source.warn?.("metrics.groups: the rules belong to groups, beside metrics; here they work for now");
  const host = config.listen?.host ?? "127.0.0.1";
  const auditFile =
    audit.file === undefined ? undefined : await checkAppendable("audit.file", audit.file, source.directory);
  const signIn = await SignInFiles.open(auth, source, log);
  const asksNobody = options.authenticate === undefined && signIn.users.length + signIn.tokens.length === 0;
  const noAuth = asksNobody && auth.anonymous === undefined;
  if (noAuth && !isLoopback(host))
    throw new ConfigError(
      `listen.host ${host}: without auth only a loopback address is possible; give auth.basic or auth.bearer, or say auth.anonymous: viewer to let everybody look`,
    );
  if (noAuth && (config.trustProxy ?? []).length > 0)
    throw new ConfigError(
      "trustProxy: without auth the dashboard is for localhost alone and serves nothing that a proxy passes on; give auth.basic or auth.bearer, or say auth.anonymous: viewer to let everybody look",
    );
  const local: Principal = { name: null, role: actions ? "admin" : "viewer" };
  const anonymous: Principal | undefined =
    auth.anonymous !== undefined ? { name: null, role: auth.anonymous } : asksNobody ? local : undefined;
  if (audit.webhook !== undefined && /^https?:\/\/[^/?#]*@/.test(audit.webhook.url))
    throw new ConfigError(
      "audit.webhook.url has a name or a password in it, with which no request can be made; give them as audit.webhook.authorization",
    );
  const webhook = audit.webhook && {
    url: audit.webhook.url,
    ...(audit.webhook.authorization && {
      authorization: await readHeader("audit.webhook.authorization", audit.webhook.authorization, source),
    }),
  };
  return {
    host,
    port: config.listen?.port ?? 8080,
    signIn,
    plugin: {
      users: () => signIn.users,
      tokens: () => signIn.tokens,
      ownFindings: () => signIn.findings(),
      actions,
      ...(options.authenticate === undefined ? {} : { authenticate: options.authenticate }),
      ...(anonymous === undefined ? {} : { anonymous }),
      loopbackNames: noAuth,
      audit: {
        ...(auditFile === undefined ? {} : { file: auditFile }),
        ...(webhook === undefined ? {} : { webhook }),
      },
      ...(config.thresholds?.longHoldMs === undefined ? {} : { longHoldMs: config.thresholds.longHoldMs }),
      ...(config.streamsPerCaller === undefined ? {} : { streamsPerCaller: config.streamsPerCaller }),
      ...(config.links === undefined ? {} : { links: config.links }),
      publicMetrics: config.metrics?.public ?? false,
      metrics: exporterOptions(config),
      ...(options.pageDirectory === undefined ? {} : { pageDirectory: options.pageDirectory }),
    },
  };
}

/** A secret that is sent as the value of a header. @throws ConfigError */
async function readHeader(what: string, secret: Secret, source: SecretSource): Promise<string> {
  const value = await readSecret(what, secret, source);
  try {
    validateHeaderValue("authorization", value);
  } catch {
    throw new ConfigError(
      `${what} cannot be a header: it must be one line of Latin letters, digits and signs`,
    );
  }
  return value;
}

function exporterOptions({
  externalUrl,
  metrics = {},
  groups = metrics.groups,
}: DashboardConfig): ExporterOptions {
  return {
    ...(metrics.topLocks === undefined ? {} : { topLocks: metrics.topLocks }),
    ...(groups === undefined ? {} : { group: groupByRules(groups) }),
    ...(externalUrl === undefined ? {} : { externalUrl: externalUrl.replace(/\/*$/, "/") }),
  };
}

function isLoopback(host: string): boolean {
  return isLoopbackName(host.includes(":") ? `[${host}]` : host);
}

function canListen(host: string, port: number): Promise<void> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) =>
      failed(new ConfigError(`listen: ${host}:${port} cannot be had (${error.code})`)),
    );
    server.listen(port, host, () => server.close(() => done()));
  });
}
