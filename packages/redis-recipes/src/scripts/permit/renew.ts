import { clock } from "../lua/clock.js";
import { evenWhenFull } from "../lua/even-when-full.js";
import { heldToken } from "../lua/held-token.js";
import { lists } from "../lua/lists.js";
import { permitGrants } from "../lua/permit-grants.js";
import { type RenewAnswer, renewalsReader } from "../mutex/renew.js";
import type { BatchScript } from "../script.js";
import { checkedIds } from "./answers.js";

export interface PermitRenewEntry {
  readonly ids: readonly string[];
  readonly leaseMs: number;
}

/**
 * Sets the remaining time of permits to their full leases, and never to less than they have. Of permits taken together all are
 * renewed, or none.
 *
 * Keys of each entry: permits, grants, token. Arguments of each entry: lease ms, how many ids, the ids as hex. Answer for each
 * entry: renewed (token, time left) / gone when one of them is missing or over, with server time.
 *
 * Redisson does not renew permits; its `updateLeaseTime` changes the score of one permit in the same way.
 */
export const permitRenew: BatchScript<null, PermitRenewEntry, RenewAnswer> = {
  name: "permit-renew",
  keyCount: 3,
  lua: `${evenWhenFull}${clock}${lists}${permitGrants}${heldToken}
local answers = {}
local at = 1
for i = 0, #KEYS / 3 - 1 do
  local grants, leaseMs, count = KEYS[3 * i + 2], tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local least
  local wanted, raised = nowMs + leaseMs, {}
  for j = at + 2, at + 1 + count do
    local id = bytesOf(ARGV[j])
    local till = redis.pcall('ZSCORE', grants, id)
    till = type(till) == 'string' and tonumber(till) or 0
    least = math.min(least or till, till)
    if till < wanted then
      raised[#raised + 1] = wanted
      raised[#raised + 1] = id
    end
  end
  if least and least > nowMs then
    scoreAll(grants, raised)
    answers[i + 1] = {'renewed', nowUs, heldToken(KEYS[3 * i + 3]), math.max(least, wanted) - nowMs}
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
