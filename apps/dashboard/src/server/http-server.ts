import type { Server } from "node:http";
import fastify, {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  LogController,
} from "fastify";
import type { DashboardConfig } from "../config/schema.js";
import type { Problem } from "../contract/api.js";
import { longestParameter } from "./plugin.js";
import { hardenReply } from "./secure-headers.js";
import { lastWordsMs } from "./stream-client.js";

/** The limit is large, because the ids of the rows on screen are in the URL of a stream. */
const longestHeadBytes = 131_072;
const longestBodyBytes = 65_536;
/** A request that has not arrived by then, body included, is cut. Answers may go on, as streams do. */
const requestMs = 20_000;
const looksEveryMs = 5_000;
/** How long requests may still take when the server closes. Streams have ended by then. */
const lastRequestsMs = lastWordsMs + 1_000;

/** The server of a dashboard that is no plugin of another server. */
export function serverOf(
  { trustProxy = [] }: Pick<DashboardConfig, "trustProxy">,
  log: boolean | FastifyBaseLogger,
  limits: { readonly requestMs: number; readonly looksEveryMs: number } = { requestMs, looksEveryMs },
): FastifyInstance {
  const options: FastifyHttpOptions<Server> = {
    ...(typeof log === "boolean" ? { logger: log } : { loggerInstance: log }),
    // Requests of a page that refreshes itself are not logged. What goes wrong is logged where it happens.
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: trustProxy.length === 0 ? false : trustProxy,
    routerOptions: { maxParamLength: longestParameter },
    bodyLimit: longestBodyBytes,
    requestTimeout: limits.requestMs,
    // A path that cannot be decoded reaches no route, and so gets none of their headers.
    frameworkErrors: (_error, _request, reply) =>
      refuse(reply, 400, "bad-request", "this is no path that can be read"),
    http: {
      maxHeaderSize: longestHeadBytes,
      headersTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.looksEveryMs,
    },
  };
  const app = fastify(options);
  // A server that closes waits for its connections, and Node.js ends no request that does not arrive any more.
  app.addHook("preClose", async () => {
    setTimeout(() => app.server.closeAllConnections(), lastRequestsMs).unref();
  });
  // Answers requests outside of the base path. The answer does not repeat the path.
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, "not-found", "there is nothing here"));
  return app;
}

function refuse(reply: FastifyReply, status: number, error: string, message: string): FastifyReply {
  return hardenReply(reply)
    .code(status)
    .send({ error, message } satisfies Problem);
}
