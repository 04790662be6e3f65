/** An answer with status 400 or above: a word for programs, and a sentence for people. */
export class ProblemError extends Error {
  override readonly name: string = "ProblemError";
  readonly statusCode: number;
  readonly error: string;

  constructor(statusCode: number, error: string, message: string) {
    super(message);
    this.statusCode = statusCode;
    this.error = error;
  }
}

export function badRequest(message: string): ProblemError {
  return new ProblemError(400, "bad-request", message);
}

export function notFound(message: string): ProblemError {
  return new ProblemError(404, "not-found", message);
}

/** The backend did not answer, or not as it should. Nothing is known. */
export function backendFailed(cluster: string, error: unknown): ProblemError {
  return new ProblemError(503, "backend-failed", `${cluster} could not be read: ${messageOf(error)}`);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
