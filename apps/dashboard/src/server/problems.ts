import { STATUS_CODES } from "node:http";
import type { FastifyError, FastifyInstance, FastifyRequest } from "fastify";
import type { Problem } from "../contract/api.js";
import { ProblemError } from "../core/problems.js";
import { wayUp } from "./page.js";

/**
 * Answers errors of this scope as `Problem`, and as a page for a person who has opened an address. An unexpected error
 * is written to the log and not shown to the client.
 */
export function answerProblems(scope: FastifyInstance): void {
  scope.setErrorHandler<FastifyError | ProblemError>((error, request, reply) => {
    if (error instanceof ProblemError) return send(error.statusCode, error.error, error.message);
    if ("validation" in error && error.validation !== undefined)
      return send(400, "bad-request", error.message);
    const { statusCode = 500 } = error;
    if (statusCode < 500) return send(statusCode, "bad-request", error.message);
    request.log.error({ err: error }, "a request failed");
    return send(500, "internal", "something went wrong here; the log of the dashboard tells more");

    function send(status: number, word: string, message: string): unknown {
      reply.code(status).header("cache-control", "no-store").header("vary", "accept");
      if (isForPerson(request)) {
        const path = (request.url.split("?")[0] ?? "").slice(scope.prefix.length);
        return reply.type("text/html; charset=utf-8").send(problemPage(status, message, wayUp(path)));
      }
      return reply.type("application/json; charset=utf-8").send({ error: word, message } satisfies Problem);
    }
  });
}

/** Whether a person has opened this address. Programs, including the page's own script, do not ask for HTML. */
function isForPerson({ method, headers, routeOptions }: FastifyRequest): boolean {
  return method === "GET" && routeOptions.config.api !== true && /\btext\/html\b/.test(headers.accept ?? "");
}

function problemPage(status: number, message: string, base: string): string {
  const text = message.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const title = `${status} ${STATUS_CODES[status] ?? ""}`.trim();
  return `<!doctype html>
<html lang="en"><head><meta name="viewport" content="width=device-width"><title>holdfast: ${title}</title></head>
<body><h1>${title}</h1><p>${text}</p><p><a href="${base}">To the overview of the locks</a></p></body></html>`;
}
