import { NotSentError } from "@holdfast/redis-recipes/internal";

/**
 * The message of every source while Redis is not reached. It stays the same, whatever error the client library gives at each
 * try.
 */
export const noContact = "no contact with Redis: connecting again";

/** Why there is no connection. */
export interface Cause {
  /** The cause for people, without words of the client library. */
  readonly text: string;
  /** Whether a server answered and refused us, so that connecting again does not help. */
  readonly refused: boolean;
}

const systemWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was cut",
  EPIPE: "the connection was cut",
  ETIMEDOUT: "no answer in time",
  EHOSTUNREACH: "there is no route to the host",
  ENETUNREACH: "there is no route to the host",
  ENOTFOUND: "the name of the host is not known",
  EAI_AGAIN: "the name of the host cannot be looked up",
};

/** `null` for an error of the client library about its own state, which shows nothing of the server. */
export function causeOf(error: unknown): Cause | null {
  if (!(error instanceof Error)) return null;
  const { code, errors } = error as { readonly code?: unknown; readonly errors?: unknown };
  // There is one error for each address of the host.
  if (Array.isArray(errors)) return causeOf(errors[0]);
  if (error.name === "ReplyError") return { text: error.message, refused: true };
  if (error.message === "connect ETIMEDOUT") return { text: "no answer in time", refused: false };
  if (error.message.startsWith("All sentinels are unreachable"))
    return { text: "no sentinel names a master", refused: false };
  if (typeof code !== "string") return null;
  const words = systemWords[code];
  if (words !== undefined) return { text: words, refused: false };
  // The message of a TLS error says which certificate is wrong, and why.
  return /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED)/.test(code)
    ? { text: error.message, refused: true }
    : null;
}

/** Nothing was sent, because there is no connection. The message says why there is none. */
export class NoConnectionError extends NotSentError {
  readonly refusal: string | null;

  constructor(cause: Cause | null, servers: readonly string[]) {
    super(cause?.text ?? "there is no connection", { servers });
    this.refusal = cause?.refused === true ? cause.text : null;
  }
}
