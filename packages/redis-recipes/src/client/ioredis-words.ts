import type { Redis } from "ioredis";
import type { Command } from "./commands.js";
import { type LinkErrorDetails, NotSentError, OutcomeUnknownError, type ReplyError } from "./errors.js";
import { refusalOf } from "./rights.js";

/**
 * Whether ioredis writes a command that it gets in this turn. Both conditions are needed, since the status lags behind a stream
 * that has ended. Where this is `false`, a command would be refused, or would wait in the offline queue of a given client.
 */
export function takesCommands(redis: Redis): boolean {
  return redis.status === "ready" && redis.stream?.writable === true;
}

/** The database in which a client writes: the one selected last. ioredis selects it again after a reconnect. */
export function selectedDb(redis: Redis): number {
  const { prevCondition, condition, options } = redis as Pick<Redis, "options"> & {
    readonly prevCondition?: { readonly select: number } | null;
    readonly condition?: { readonly select: number } | null;
  };
  return (prevCondition ?? condition)?.select ?? options?.db ?? 0;
}

/** The texts with which ioredis 6.0.0 refuses a command before it writes anything. */
const refusals = [
  "Stream isn't writeable",
  "Connection in subscriber mode",
  "Connection is in monitoring mode",
] as const;

/**
 * The failure of one command that ioredis settled with this error. `takesCommands` must have been true in the turn of the call.
 * The outcome is unknown unless the error is known to mean that nothing was written. This includes "Connection is closed.":
 * ioredis settles written commands with it, and also refuses the commands of a client that had ended at the call.
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
