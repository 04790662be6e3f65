import { clock } from "../lua/clock.js";
import { publish } from "../lua/publish.js";
import { type CallScript, Reply } from "../script.js";

export interface GateArgs {
  readonly action: "shut" | "open" | "read";
  readonly changes: string;
}

export interface GateAnswer {
  readonly serverMs: number;
  readonly changed: boolean;
  readonly shut: boolean;
  readonly publishError: string;
}

/**
 * Everything that is done with a barrier. Safe to send again.
 *
 * Keys: the gate. Arguments: action, channel of changes. Answer: server time, whether changed, whether shut, publish error. The gate has no TTL: it stays
 * shut until a client opens it. Redisson has no barrier.
 */
export const barrierGate: CallScript<GateArgs, GateAnswer> = {
  name: "barrier-gate",
  keyCount: 1,
  lua: `${clock}${publish}
local shut = redis.call('EXISTS', KEYS[1])
local wanted = ARGV[1] == 'shut' and 1 or ARGV[1] == 'open' and 0 or shut
local changed = wanted == shut and 0 or 1
if changed == 1 then
  if wanted == 1 then redis.call('SET', KEYS[1], '1') else redis.call('DEL', KEYS[1]) end
  say('PUBLISH', ARGV[2], tostring(wanted))
end
return {nowUs, changed, wanted, mute}
`,
  args: (given) => [given.action, given.changes],
  parse: (raw) => {
    const reply = new Reply("barrier-gate", raw);
    return reply.end({
      serverMs: reply.serverMs(),
      changed: reply.flag(),
      shut: reply.flag(),
      publishError: reply.text(),
    });
  },
};
