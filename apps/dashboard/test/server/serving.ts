import fastify, { type FastifyInstance } from "fastify";
import type { Role } from "../../src/auth/roles.js";
import { fastifyHoldfast, type HoldfastOptions, longestParameter } from "../../src/index.js";
import { FakeCollector } from "../fake-collector.js";

/** The bearer tokens, one for each role. */
export const tokens: Readonly<Record<Role, string>> = {
  viewer: "viewer-token-0123456789",
  operator: "operator-token-0123456789",
  admin: "admin-token-0123456789",
};

export interface Serving extends AsyncDisposable {
  readonly app: FastifyInstance;
  readonly zookeeper: FakeCollector;
  readonly redis: FakeCollector;
}

/** A host with the dashboard at `prefix`, for two fake clusters: `zoo` and `red`. It does not listen. */
export async function serving(
  options: Partial<HoldfastOptions> & {
    readonly prefix?: string;
    readonly trustProxy?: boolean;
    /** Called with each line of the log that is a warning or worse. */
    readonly onWarning?: (line: string) => void;
  } = {},
): Promise<Serving> {
  const zookeeper = new FakeCollector("zookeeper");
  const redis = new FakeCollector("redis");
  const { trustProxy = false, onWarning, ...plugin } = options;
  const app = fastify({
    trustProxy,
    routerOptions: { maxParamLength: longestParameter },
    logger: onWarning === undefined ? false : { level: "warn", stream: { write: onWarning } },
  });
  await app.register(fastifyHoldfast, {
    clusters: [
      { name: "zoo", collector: zookeeper },
      { name: "red", collector: redis },
    ],
    tokens: (["viewer", "operator", "admin"] as const).map((role) => ({
      name: `the ${role}`,
      role,
      token: tokens[role],
    })),
    actions: true,
    ...plugin,
  });
  await app.ready();
  return { app, zookeeper, redis, [Symbol.asyncDispose]: async () => await app.close() };
}

export function as(role: Role): { authorization: string } {
  return { authorization: `Bearer ${tokens[role]}` };
}

/** The headers with which our page sends a change. */
export async function changing(app: FastifyInstance, role: Role, base = ""): Promise<Record<string, string>> {
  const me = await app.inject({ url: `${base}/api/v1/me`, headers: as(role) });
  return { ...as(role), "x-csrf-token": me.json().csrfToken, "sec-fetch-site": "same-origin" };
}
