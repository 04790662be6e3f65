import type { FastifyError, FastifyInstance } from "fastify";
import type { Problem } from "../contract/api.js";
import { ProblemError } from "../core/problems.js";

/** Errors of this scope as `Problem`; what nobody foresaw goes to the log and not to the client. */
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
      return reply
        .code(status)
        .type("application/json; charset=utf-8")
        .header("cache-control", "no-store")
        .send({ error: word, message } satisfies Problem);
    }
  });
}
