import { clock } from "../lua/clock.js";
import { evenWhenFull } from "../lua/even-when-full.js";
import { heldToken } from "../lua/held-token.js";
import { type RenewAnswer, type RenewEntry, renewalsReader } from "../mutex/renew.js";
import type { BatchScript } from "../script.js";

/**
 * Sets the remaining time of one client's read holds to their full leases, and never to less than they have.
 *
 * Keys of each entry: lock, token, the hold's own. Arguments of each entry: owner, lease ms. Answer for each entry: renewed
 * (token, PTTL of the hold) / gone, with server time.
 *
 * As Redisson's, which renews only its own owners. Unlike Redisson's, it writes the key of the hold again if that had
 * expired: while the field is there, no writer can have held in between, since a writer needs the hash to be gone.
 */
export const readRenew: BatchScript<null, RenewEntry, RenewAnswer> = {
  name: "read-renew",
  keyCount: 3,
  lua: `${evenWhenFull}${clock}${heldToken}
local answers = {}
for i = 0, #KEYS / 3 - 1 do
  local lock, hold = KEYS[3 * i + 1], KEYS[3 * i + 3]
  local owner, leaseMs = ARGV[2 * i + 1], tonumber(ARGV[2 * i + 2])
  local found = redis.pcall('HMGET', lock, 'mode', owner)
  if not found.err and found[1] and found[2] then
    local left = redis.call('PTTL', hold)
    if left == -2 then
      redis.call('SET', hold, '1', 'PX', leaseMs)
    elseif left < leaseMs then
      redis.call('PEXPIRE', hold, leaseMs)
    end
    if redis.call('PTTL', lock) < leaseMs then redis.call('PEXPIRE', lock, leaseMs) end
    answers[i + 1] = {'renewed', nowUs, heldToken(KEYS[3 * i + 2]), redis.call('PTTL', hold)}
  else
    answers[i + 1] = {'gone', nowUs}
  end
end
return answers
`,
  args: (_common, entries) => entries.flatMap((each) => [each.field, each.leaseMs]),
  parse: renewalsReader("read-renew"),
};
