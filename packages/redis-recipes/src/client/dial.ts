import { connect } from "node:net";
import type { Millis } from "@holdfast/core";
import { isRefusal } from "./errors.js";
import type { RedisAddress } from "./target.js";

/** Resolves with the reason why the address cannot be reached, or with `null` when it can. Never rejects. */
function dial({ host, port }: RedisAddress, limitMs: Millis): Promise<Error | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (cause: Error | null): void => {
      socket.destroy();
      resolve(cause);
    };
    socket.setTimeout(limitMs, () => end(new Error(`connect ETIMEDOUT ${host}:${port}`)));
    socket.on("error", end);
    socket.once("connect", () => end(null));
  });
}

/**
 * Resolves with the reason why none of the addresses can be reached, or with `null` when one can. ioredis reports only
 * "Connection is closed" for a sentinel or node that it could not ask.
 */
export async function dialAll(
  addresses: readonly RedisAddress[],
  limitMs: Millis,
): Promise<{ readonly cause: Error; readonly refused: boolean } | null> {
  const causes = await Promise.all(addresses.map((each) => dial(each, limitMs)));
  const errors = causes.filter((cause) => cause !== null);
  const [cause] = errors;
  if (cause === undefined || errors.length < addresses.length) return null;
  return { cause, refused: errors.every(isRefusal) };
}
