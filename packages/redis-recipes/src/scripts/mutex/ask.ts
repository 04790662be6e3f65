import { clock } from "../lua/clock.js";
import { mutexState } from "../lua/mutex-state.js";
import { publish } from "../lua/publish.js";
import { answerReader, type CallScript, nothingMore } from "../script.js";
import { type Conflict, conflictPart } from "./answers.js";

export type AskAnswer =
  | {
      readonly status: "asked";
      readonly serverMs: number;
      readonly holders: readonly string[];
      readonly publishError: string;
    }
  /** A client of Redisson holds the lock, and no message reaches it. */
  | { readonly status: "foreign"; readonly serverMs: number; readonly holders: readonly string[] }
  | { readonly status: "free"; readonly serverMs: number }
  | Conflict;

export function askReader(script: string): (raw: unknown) => AskAnswer {
  return answerReader<AskAnswer>(script, {
    asked: (reply) => ({ holders: reply.texts(), publishError: reply.text() }),
    foreign: (reply) => ({ holders: reply.texts() }),
    free: nothingMore,
    conflict: conflictPart,
  });
}

/**
 * Asks the holder of a mutex to release, and changes nothing.
 *
 * Keys: lock. No arguments. Answer: asked (holder, publish error) / foreign (holder) / free / conflict; server time in each.
 * Redisson has no such request, and its holders do not receive one.
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
  parse: askReader("mutex-ask"),
};
