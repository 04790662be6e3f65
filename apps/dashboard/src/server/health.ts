import type { FastifyInstance } from "fastify";
import type { ClusterRow } from "../contract/api.js";
import type { Observatory } from "../core/observatory.js";

/**
 * Alive: this process answers. Ready: something of every cluster has been read. It stays ready when a backend fails
 * later, because the page is there to show that. A dashboard that never becomes ready shows why on its page and in its
 * API, which answer all the same.
 */
export function serveHealth(scope: FastifyInstance, observatory: Observatory): void {
  const options = { schema: { hide: true }, config: { access: "public" as const } };
  scope.get("/healthz", options, () => ({ status: "ok" }));
  scope.get("/readyz", options, (_request, reply) => {
    const ready = observatory.clusterRows().every(isKnown);
    return reply
      .code(ready ? 200 : 503)
      .header("cache-control", "no-store")
      .send({ status: ready ? "ok" : "starting" });
  });
}

/** A cluster without roots and patterns has nothing to read, so it counts as known. */
function isKnown({ state, lastSuccessMs }: ClusterRow): boolean {
  return lastSuccessMs !== null || state === "ok";
}
