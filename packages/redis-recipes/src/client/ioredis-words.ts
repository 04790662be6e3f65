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

/** The database in which a client writes: the one selected last, which ioredis selects again when it connects again. */
export function selectedDb(redis: Redis): number {
  const { prevCondition, condition, options } = redis as Pick<Redis, "options"> & {
    readonly prevCondition?: { readonly select: number } | null;
    readonly condition?: { readonly select: number } | null;
  };
  return (prevCondition ?? condition)?.select ?? options?.db ?? 0;
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
