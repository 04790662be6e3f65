import swagger from "@fastify/swagger";
import type { FastifyInstance } from "fastify";

/** Makes the document of the schemas by which the routes check requests. Call it before they are added. */
export async function describeApi(scope: FastifyInstance, version: string): Promise<void> {
  await scope.register(swagger, {
    decorator: "holdfastOpenApi",
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "holdfast dashboard",
        description: "Who holds what, who waits, since when, what is wrong, and how to act on it.",
        version,
      },
      components: {
        securitySchemes: {
          basic: { type: "http", scheme: "basic" },
          bearer: { type: "http", scheme: "bearer" },
        },
      },
      security: [{ basic: [] }, { bearer: [] }],
    },
  });
}

export function serveOpenApi(scope: FastifyInstance): void {
  scope.get("/openapi.json", { schema: { hide: true }, config: { access: "viewer", api: true } }, () =>
    (scope as FastifyInstance & { holdfastOpenApi(): unknown }).holdfastOpenApi(),
  );
}
