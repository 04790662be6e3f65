import { eventActions, type FaultAction, handshakeActions, handshakeOnly } from "./actions.js";
import type { FaultMatch } from "./match.js";

/** @throws RangeError if the action cannot happen to what is matched. */
export function checkAction({ op }: FaultMatch, action: FaultAction): void {
  const targets = op === undefined || typeof op === "string" ? [op] : op;
  for (const target of targets) {
    const possible =
      target === "connect"
        ? handshakeActions.has(action.do)
        : target === "event"
          ? eventActions.has(action.do)
          : !handshakeOnly.has(action.do);
    if (!possible) throw new RangeError(`"${action.do}" cannot happen to ${target ?? "every request"}`);
  }
}
