import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance } from "fastify";
import { EventsQuerySchema } from "../contract/api.js";
import { ProblemError } from "../core/problems.js";
import { StreamClient } from "./stream-client.js";
import type { StreamHub } from "./stream-hub.js";

const mostRows = 500;
const mostClients = 2_000;

/** GET events: changes as they come. */
export function serveEvents(root: FastifyInstance, hub: StreamHub, undrainedMs?: number): void {
  const scope = root.withTypeProvider<TypeBoxTypeProvider>();
  scope.get(
    "/events",
    {
      config: { access: "viewer", api: true },
      // A stream has no answer to a HEAD.
      exposeHeadRoute: false,
      schema: {
        summary: "Changes as they come, as server-sent events",
        querystring: EventsQuerySchema,
        produces: ["text/event-stream"],
      },
    },
    (request, reply) => {
      const { rows = "", overview, findings } = request.query;
      const ids = new Set(rows.split(",").filter((id) => id !== ""));
      if (ids.size > mostRows) throw new ProblemError(400, "bad-request", `rows: ${mostRows} at most`);
      if (hub.totals.clients >= mostClients)
        throw new ProblemError(503, "busy", "too many streams; ask for what you need instead");
      reply.hijack();
      const response = reply.raw;
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) response.setHeader(name, value);
      // Proxies hold back what they may compress or keep.
      response.writeHead(200, {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
      });
      response.flushHeaders();
      const lastEventId = request.headers["last-event-id"];
      const client = new StreamClient(
        hub,
        response,
        {
          overview: overview !== undefined,
          findings: findings !== undefined,
          lastEventId: Array.isArray(lastEventId) ? lastEventId[0] : lastEventId,
        },
        undrainedMs,
      );
      hub.add(client, [...ids]);
    },
  );
}
