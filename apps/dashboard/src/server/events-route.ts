import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance } from "fastify";
import { EventsQuerySchema } from "../contract/api.js";
import { ProblemError } from "../core/problems.js";
import { admissionOf } from "./access.js";
import { StreamClient } from "./stream-client.js";
import type { StreamHub } from "./stream-hub.js";
import type { StreamRights } from "./stream-rights.js";

const mostRows = 500;
const mostClients = 2_000;

/** The most pages one caller may have open at once. */
const usualPerCaller = 20;

export interface StreamLimits {
  readonly undrainedMs: number | undefined;
  /** The most streams of one name at one address. */
  readonly perCaller: number | undefined;
  readonly rights: StreamRights;
}

/** GET events: sends changes as they come. */
export function serveEvents(root: FastifyInstance, hub: StreamHub, limits: StreamLimits): void {
  const { undrainedMs, perCaller = usualPerCaller, rights } = limits;
  /** The number of open streams, by name and address. */
  const open = new Map<string, number>();
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
      const admission = admissionOf(request);
      const caller = JSON.stringify([admission.principal.name, request.ip]);
      const own = open.get(caller) ?? 0;
      if (own >= perCaller)
        throw new ProblemError(429, "too-many-streams", `${perCaller} streams at most for one caller`);
      reply.hijack();
      // The caller closed the connection while its credentials were checked. That connection emits no further "close".
      if (request.raw.socket.destroyed) return;
      open.set(caller, own + 1);
      reply.raw.once("close", () => {
        const left = (open.get(caller) ?? 1) - 1;
        if (left > 0) open.set(caller, left);
        else open.delete(caller);
      });
      const response = reply.raw;
      for (const [name, value] of Object.entries(reply.getHeaders()))
        if (value !== undefined) response.setHeader(name, value);
      // These headers keep proxies from holding back what they could compress or cache.
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
      const unwatch = rights.watch(admission, (why) => {
        request.log.info(
          { address: request.ip, name: admission.principal.name },
          `a stream is ended: ${why}`,
        );
        client.close();
      });
      response.once("close", unwatch);
      hub.add(client, [...ids]);
    },
  );
}
