import { clock } from "../lua/clock.js";
import { publish } from "../lua/publish.js";
import type { Late } from "../mutex/answers.js";
import { answerReader, type CallScript, notAfterUs, nothingMore } from "../script.js";

export interface GateArgs {
  readonly action: "shut" | "open" | "read";
  /** Without this limit a late copy, from a connection that was given up long ago, would undo what was done since. */
  readonly notAfterMs: number | null;
  readonly changes: string;
}

export type GateAnswer =
  | {
      readonly status: "done";
      readonly serverMs: number;
      readonly changed: boolean;
      readonly shut: boolean;
      readonly publishError: string;
    }
  | Late;

const readGate = answerReader<GateAnswer>("barrier-gate", {
  done: (reply) => ({ changed: reply.flag(), shut: reply.flag(), publishError: reply.text() }),
  late: nothingMore,
});

/**
 * All requests to a barrier. Only `read` is safe to send again: a repeat of the others could undo what another client has done
 * since.
 *
 * Keys: the gate. Arguments: action, not after (us, 0 for none), channel of changes. Answer: done (whether changed, whether shut,
 * publish error) / late; server time in each. The gate has no TTL: it stays shut until a client opens it. Redisson has no
 * barrier.
 */
export const barrierGate: CallScript<GateArgs, GateAnswer> = {
  name: "barrier-gate",
  keyCount: 1,
  lua: `${clock}${publish}
if tonumber(ARGV[2]) > 0 and nowUs > tonumber(ARGV[2]) then return {'late', nowUs} end
local shut = redis.call('EXISTS', KEYS[1])
local wanted = ARGV[1] == 'shut' and 1 or ARGV[1] == 'open' and 0 or shut
local changed = wanted == shut and 0 or 1
if changed == 1 then
  if wanted == 1 then redis.call('SET', KEYS[1], '1') else redis.call('DEL', KEYS[1]) end
  say('PUBLISH', ARGV[3], tostring(wanted))
end
return {'done', nowUs, changed, wanted, mute}
`,
  args: (given) => [given.action, notAfterUs(given.notAfterMs), given.changes],
  parse: readGate,
};
