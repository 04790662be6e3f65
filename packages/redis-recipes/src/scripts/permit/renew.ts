import { clock } from "../lua/clock.js";
import { heldToken } from "../lua/held-token.js";
import { permitGrants } from "../lua/permit-grants.js";
import { type RenewAnswer, renewalsReader } from "../mutex/renew.js";
import type { BatchScript } from "../script.js";
import { checkedIds } from "./answers.js";

export interface PermitRenewEntry {
  readonly ids: readonly string[];
  readonly leaseMs: number;
}

/**
 * Sets the time that permits have left to their full leases, and never to less than they have; of permits taken together, all or none.
 *
 * Keys of each entry: permits, grants, token. Arguments of each entry: lease ms, how many ids, the ids as hex. Answer for each entry: renewed
 * (token, time left) / gone when one of them is missing or over, with server time.
 *
 * Redisson does not renew permits; its `updateLeaseTime` changes the score of one in the same way.
 */
export const permitRenew: BatchScript<null, PermitRenewEntry, RenewAnswer> = {
  name: "permit-renew",
  keyCount: 3,
  lua: `${clock}${permitGrants}${heldToken}
local answers = {}
local at = 1
for i = 0, #KEYS / 3 - 1 do
  local grants, leaseMs, count = KEYS[3 * i + 2], tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local least
  for j = at + 2, at + 1 + count do
    local till = redis.pcall('ZSCORE', grants, bytesOf(ARGV[j]))
    till = type(till) == 'string' and tonumber(till) or 0
    least = math.min(least or till, till)
  end
  if least and least > nowMs then
    local till = nowMs + leaseMs
    for j = at + 2, at + 1 + count do
      local id = bytesOf(ARGV[j])
      if tonumber(redis.call('ZSCORE', grants, id)) < till then redis.call('ZADD', grants, till, id) end
    end
    answers[i + 1] = {'renewed', nowUs, heldToken(KEYS[3 * i + 3]), math.max(least, till) - nowMs}
  else
    answers[i + 1] = {'gone', nowUs}
  end
  at = at + 2 + count
end
return answers
`,
  args: (_common, entries) =>
    entries.flatMap((each) => [each.leaseMs, each.ids.length, ...checkedIds(each.ids)]),
  parse: renewalsReader("permit-renew"),
};
