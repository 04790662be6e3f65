import helmet, { type FastifyHelmetOptions } from "@fastify/helmet";
import type { FastifyInstance, FastifyReply } from "fastify";

const options: FastifyHelmetOptions = {
  global: true,
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", "data:"],
      connectSrc: ["'self'"],
      manifestSrc: ["'self'"],
      baseUri: ["'self'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  frameguard: { action: "deny" },
  referrerPolicy: { policy: "no-referrer" },
  crossOriginResourcePolicy: { policy: "same-origin" },
  // The server that ends TLS decides whether the whole host uses only TLS.
  hsts: false,
};

/** Adds headers to answers outside of the dashboard's own scope. Those are JSON, with nothing to run or frame. */
export function hardenReply(reply: FastifyReply): FastifyReply {
  return reply
    .header("content-security-policy", "default-src 'none'; frame-ancestors 'none'")
    .header("x-content-type-options", "nosniff")
    .header("cache-control", "no-store");
}

/** Forbids inline scripts, content from elsewhere, and framing by any page. */
export async function secureHeaders(scope: FastifyInstance): Promise<void> {
  if (!scope.hasReplyDecorator("helmet")) {
    await scope.register(helmet, options);
    return;
  }
  // The host of this plugin already has helmet, with options for its own pages.
  scope.addHook("onRequest", async (_request, reply) => {
    await reply.helmet(options);
  });
}
