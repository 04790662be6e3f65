import { channel } from "node:diagnostics_channel";
import { InvalidArgumentError } from "../api/errors.js";
import type { TokenGate, TokenGateOptions } from "../api/fencing.js";
import { channelNames } from "../events/channels.js";
import type { EventHub } from "../events/event-hub.js";
import { checkKnownKeys, checkObject, checkString, show } from "../options/checks.js";
import { outsideScopes } from "../scope-store.js";

const rejections = channel(channelNames["fencing-rejected"]);
const known: ReadonlySet<string> = new Set(["group", "provider", "maxResources"]);

/** The largest `LockHandle.turn`: a gate has 16 bits for it. */
export const lastTurn = 65_535;

/**
 * A gate in the memory of this process: it forgets all tokens when the process ends. Throws `InvalidArgumentError` for
 * unknown options and for values of a wrong type.
 */
export function tokenGate(options: TokenGateOptions = {}): TokenGate {
  checkObject("tokenGate: options", options);
  checkKnownKeys("tokenGate", options, known);
  checkString("tokenGate: group", options.group);
  const { group = "default", provider, maxResources = 100_000 } = options;
  if (!Number.isInteger(maxResources) || maxResources < 1) {
    throw new InvalidArgumentError(
      `tokenGate: maxResources must be a whole number from 1; got ${show(maxResources)}`,
    );
  }
  const largest = new Map<string, bigint>();
  const rejected = (): void => {
    const events = provider?.events as Partial<EventHub> | undefined;
    if (typeof events?.emit === "function") (events as EventHub).emit("fencing-rejected", { group });
    else if (rejections.hasSubscribers)
      outsideScopes(() => rejections.publish({ group, at: performance.now() }));
  };
  return {
    admit(resource, token, turn = 0) {
      if (typeof resource !== "string") {
        throw new InvalidArgumentError(`admit: resource must be a string; got ${show(resource)}`);
      }
      // A missing token would compare as neither smaller nor larger than any other, and must not be admitted.
      if (typeof token !== "bigint") {
        throw new InvalidArgumentError(`admit: token must be a bigint; got ${show(token)}`);
      }
      if (!Number.isInteger(turn) || turn < 0 || turn > lastTurn) {
        throw new InvalidArgumentError(
          `admit: turn must be a whole number from 0 to 65,535; got ${show(turn)}`,
        );
      }
      // Token and turn in one number: the token decides first, and the turn decides between equal tokens.
      const pair = (token << 16n) + BigInt(turn);
      const seen = largest.get(resource);
      if (seen !== undefined && pair < seen) {
        rejected();
        return false;
      }
      if (seen === undefined && largest.size >= maxResources) {
        throw new InvalidArgumentError(
          `admit: more than ${maxResources} resources (maxResources); forgetting one would let an old token pass`,
        );
      }
      largest.set(resource, pair);
      return true;
    },
  };
}
