import { clock } from "../lua/clock.js";
import { mutexState } from "../lua/mutex-state.js";
import { publish } from "../lua/publish.js";
import { type CallScript, Reply } from "../script.js";
import type { Conflict } from "./answers.js";

export type AskAnswer =
  | {
      readonly status: "asked";
      readonly serverMs: number;
      readonly holders: readonly string[];
      readonly publishError: string;
    }
  /** Redisson holds: it cannot be told. */
  | { readonly status: "foreign"; readonly serverMs: number; readonly holders: readonly string[] }
  | { readonly status: "free"; readonly serverMs: number }
  | Conflict;

export function readAsk(script: string, raw: unknown): AskAnswer {
  const reply = new Reply(script, raw);
  const status = reply.text();
  const serverMs = reply.serverMs();
  switch (status) {
    case "asked":
      return reply.end({ status, serverMs, holders: reply.texts(), publishError: reply.text() });
    case "foreign":
      return reply.end({ status, serverMs, holders: reply.texts() });
    case "free":
      return reply.end({ status, serverMs });
    case "conflict":
      return reply.end({ status, serverMs, found: reply.text() });
    default:
      throw reply.unknownStatus(status);
  }
}

/**
 * Asks the holder of a mutex to let go, and changes nothing.
 *
 * Keys: lock. No arguments. Answer: asked (holder, publish error) / foreign (holder) / free / conflict; server time in each.
 * Redisson has no such request, and its holders hear none.
 */
export const mutexAsk: CallScript<null, AskAnswer> = {
  name: "mutex-ask",
  keyCount: 1,
  lua: `${clock}${publish}${mutexState}
local state, holder = look(KEYS[1])
if state == 'conflict' then return {'conflict', nowUs, holder} end
if state == 'free' then return {'free', nowUs} end
if not channelOf(holder) then return {'foreign', nowUs, {holder}} end
tellOwner(holder, {type = 'revoke', key = KEYS[1], owner = holder})
return {'asked', nowUs, {holder}, mute}
`,
  args: () => [],
  parse: (raw) => readAsk("mutex-ask", raw),
};
