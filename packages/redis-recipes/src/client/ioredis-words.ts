import type { Redis } from "ioredis";
import type { Command } from "./commands.js";
import { type LinkErrorDetails, NotSentError, OutcomeUnknownError, type ReplyError } from "./errors.js";
import { refusalOf } from "./rights.js";

/**
 * Whether ioredis writes a command that it is given in this turn. It goes by both: the status lags behind a stream that has ended. Where
 * this is false a command would be refused, or wait in the offline queue of a given client.
 */
export function takesCommands(redis: Redis): boolean {
  return redis.status === "ready" && redis.stream?.writable === true;
}

/** The words with which ioredis 6.0.0 refuses a command before it writes anything. */
const refusals = [
  "Stream isn't writeable",
  "Connection in subscriber mode",
  "Connection is in monitoring mode",
] as const;

/**
 * What an error says of the one command that ioredis settled with it, where `takesCommands` was true in the turn of the call. Any
 * error that is not known to mean that nothing was written leaves the outcome unknown: "Connection is closed." among them, with which
 * ioredis settles commands that were written before, and refuses those of a client that had ended at the call.
 */
export function failureOf(
  error: Error,
  { servers }: LinkErrorDetails,
  command: Command | null,
): ReplyError | NotSentError | OutcomeUnknownError {
  if (error.name === "ReplyError") return refusalOf(error.message, { servers }, command);
  if (refusals.some((words) => error.message.startsWith(words)))
    return new NotSentError("there is no connection", { servers, cause: error });
  return new OutcomeUnknownError(error.message, { servers, cause: error });
}
