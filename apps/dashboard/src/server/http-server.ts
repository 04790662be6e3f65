import type { Server } from "node:http";
import fastify, {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyInstance,
  LogController,
} from "fastify";
import type { DashboardConfig } from "../config/schema.js";
import type { Problem } from "../contract/api.js";
import { longestParameter } from "./plugin.js";
import { hardenReply } from "./secure-headers.js";

/** The ids of the rows on screen are in the URL of a stream. */
const longestHeadBytes = 131_072;
const longestBodyBytes = 65_536;
/** A request, its body included, that is not there by then is cut; answers may go on, as streams do. */
const requestMs = 20_000;
const looksEveryMs = 5_000;

/** The server of a dashboard that is no plugin of another one. */
export function serverOf(
  { trustProxy = [] }: Pick<DashboardConfig, "trustProxy">,
  log: boolean | FastifyBaseLogger,
  limits: { readonly requestMs: number; readonly looksEveryMs: number } = { requestMs, looksEveryMs },
): FastifyInstance {
  const options: FastifyHttpOptions<Server> = {
    ...(typeof log === "boolean" ? { logger: log } : { loggerInstance: log }),
    // Requests of a page that refreshes itself are no news; what went wrong is logged where it does.
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: trustProxy.length === 0 ? false : trustProxy,
    routerOptions: { maxParamLength: longestParameter },
    bodyLimit: longestBodyBytes,
    requestTimeout: limits.requestMs,
    http: {
      maxHeaderSize: longestHeadBytes,
      headersTimeout: limits.requestMs,
      connectionsCheckingInterval: limits.looksEveryMs,
    },
  };
  const app = fastify(options);
  // What lies outside of the base path. The path is not repeated.
  app.setNotFoundHandler((_request, reply) =>
    hardenReply(reply)
      .code(404)
      .send({ error: "not-found", message: "there is nothing here" } satisfies Problem),
  );
  return app;
}
