import type { FastifyInstance } from "fastify";
import type { Observatory } from "../core/observatory.js";

/** A backend that cannot be reached does not keep the page from saying so. */
const startingMs = 30_000;

/** Alive: this process answers. Ready: of each cluster something is known, or 30 s have not been enough for that. */
export function serveHealth(scope: FastifyInstance, observatory: Observatory): void {
  const sinceMs = performance.now();
  const options = { schema: { hide: true }, config: { access: "public" as const } };
  scope.get("/healthz", options, () => ({ status: "ok" }));
  scope.get("/readyz", options, (_request, reply) => {
    const starting = observatory.clusterRows().some(({ state }) => state === "starting");
    const ready = !starting || performance.now() - sinceMs > startingMs;
    return reply
      .code(ready ? 200 : 503)
      .header("cache-control", "no-store")
      .send({ status: ready ? "ok" : "starting" });
  });
}
