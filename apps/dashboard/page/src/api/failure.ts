import type { Problem } from "../../../src/contract/api.js";

/** `unreachable`: no answer. `broken`: an answer that is not of this API. */
export type FailureKind =
  | "unreachable"
  | "signed-out"
  | "denied"
  | "missing"
  | "refused"
  | "limited"
  | "server"
  | "broken";

/** Why the API did not give what was asked for. */
export class ApiFailure extends Error {
  readonly kind: FailureKind;
  readonly status: number;
  /** The API's word for the problem; empty if it gave none. */
  readonly code: string;

  constructor(kind: FailureKind, status: number, code: string, message: string) {
    super(message);
    this.name = "ApiFailure";
    this.kind = kind;
    this.status = status;
    this.code = code;
  }
}

/** The codes of refusals that come before anything is done, besides all that the caller could have known (4xx). */
const refusedFirst: ReadonlySet<string> = new Set([
  "audit-unavailable",
  "backend-failed",
  "mutes-unavailable",
  "busy",
]);

/**
 * The sentence that a user reads when a request to change something has failed. If the answer was lost, or if the
 * server does not know the outcome, the change may have happened. A user who then read "Nothing was done" might force a
 * release twice.
 */
export function refusalOf({ status, code, message }: ApiFailure, changes = true): string {
  const certain = !changes || (status >= 400 && status < 500) || refusedFirst.has(code);
  return `${certain ? "Nothing was done." : "It is not known whether it was done: look before you try again."} ${message}`;
}

export function kindOfStatus(status: number): FailureKind {
  if (status === 401) return "signed-out";
  if (status === 403) return "denied";
  if (status === 404) return "missing";
  if (status === 429) return "limited";
  return status >= 500 ? "server" : "refused";
}

export function asProblem(body: unknown): Problem | null {
  if (typeof body !== "object" || body === null) return null;
  const { error, message } = body as Partial<Record<keyof Problem, unknown>>;
  return typeof error === "string" && typeof message === "string" ? { error, message } : null;
}
