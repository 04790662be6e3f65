import { clock } from "../lua/clock.js";
import { publish } from "../lua/publish.js";
import { readWriteState } from "../lua/read-write-state.js";
import { type AskAnswer, askReader } from "../mutex/ask.js";
import type { CallScript } from "../script.js";

/**
 * Asks the writer, or every reader, to release, and changes nothing.
 *
 * Keys: lock. Arguments: mode. Answer: asked (our holders, publish error) / foreign (holders) / free (no holder in this mode) /
 * conflict; server time in each. Redisson has no such request, and its holders do not receive one.
 */
export const readWriteAsk: CallScript<{ readonly mode: "read" | "write" }, AskAnswer> = {
  name: "read-write-ask",
  keyCount: 1,
  lua: `${clock}${publish}${readWriteState}
local state, holder, mode = look(KEYS[1])
if state == 'conflict' then return {'conflict', nowUs, holder} end
if state == 'free' or mode ~= ARGV[1] then return {'free', nowUs} end
local ours, foreign = {}, {}
for _, each in ipairs(redis.call('HKEYS', KEYS[1])) do
  local writer = string.match(each, '^(.*):write$')
  local owner = writer or each
  if each ~= 'mode' and (mode == 'read' or writer) then
    local list = channelOf(owner) and ours or foreign
    list[#list + 1] = owner
  end
end
table.sort(ours)
table.sort(foreign)
if #ours == 0 then return {'foreign', nowUs, foreign} end
for _, owner in ipairs(ours) do tellOwner(owner, {type = 'revoke', key = KEYS[1], owner = owner}) end
return {'asked', nowUs, ours, mute}
`,
  args: (given) => [given.mode],
  parse: askReader("read-write-ask"),
};
