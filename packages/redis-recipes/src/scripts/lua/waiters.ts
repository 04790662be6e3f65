/**
 * Our queue beside a lock. An entry of the list is `<owner> <leaseMs>`; the owner's score in the other key says until when it
 * counts as alive. `liveHead` drops dead entries before the first live one, at most 64 in a call, so that no call
 * grows with the dead. `touch` lets everything of ours vanish ten windows after the last client has.
 */
export const waiters = `
local function entryOf(owner, leaseMs) return owner .. ' ' .. string.format('%.0f', leaseMs) end
local function liveHead(k)
  for _ = 1, 64 do
    local entry = redis.call('LINDEX', k.waiters, 0)
    if not entry then return nil end
    local owner, leaseMs = string.match(entry, '^(.*) (%d+)$')
    local score = owner and redis.call('ZSCORE', k.alive, owner)
    if score and tonumber(score) > nowMs then return owner, tonumber(leaseMs) end
    redis.call('LPOP', k.waiters)
    if owner then redis.call('ZREM', k.alive, owner) end
  end
  return nil
end
local function touch(k, aliveMs)
  redis.call('PEXPIRE', k.waiters, 10 * aliveMs)
  redis.call('PEXPIRE', k.alive, 10 * aliveMs)
  redis.call('PEXPIRE', k.run, 10 * aliveMs)
end
`;
