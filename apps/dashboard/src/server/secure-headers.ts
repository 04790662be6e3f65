import helmet, { type FastifyHelmetOptions } from "@fastify/helmet";
import type { FastifyInstance } from "fastify";

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
  // Whether the whole host speaks TLS alone is for whoever ends TLS to say.
  hsts: false,
};

/** No inline script, nothing from elsewhere, in nobody's frame. */
export async function secureHeaders(scope: FastifyInstance): Promise<void> {
  if (!scope.hasReplyDecorator("helmet")) {
    await scope.register(helmet, options);
    return;
  }
  // The host of this plugin has helmet already, with options for pages of its own.
  scope.addHook("onRequest", async (_request, reply) => {
    await reply.helmet(options);
  });
}
