/**
 * The hash of a mutex, behind the two functions that queue and hand-off need. `look(lock, owner)` gives `free`; `held` and the
 * holder; or `conflict` and what is there instead: another type, a read-write lock, or a hash that no lock writes.
 * `put` writes a holder absolutely where the lock is free.
 */
export const mutexState = `
local function look(lock)
  local kind = redis.call('TYPE', lock).ok
  if kind == 'none' then return 'free', '' end
  if kind ~= 'hash' then return 'conflict', kind end
  if redis.call('HEXISTS', lock, 'mode') == 1 then return 'conflict', 'read-write-lock' end
  if redis.call('HLEN', lock) ~= 1 then return 'conflict', 'hash' end
  local all = redis.call('HGETALL', lock)
  if not string.match(all[2], '^%d+$') then return 'conflict', 'hash' end
  return 'held', all[1]
end
local function put(lock, owner, leaseMs)
  redis.call('HSET', lock, owner, '1')
  redis.call('PEXPIRE', lock, leaseMs)
end
`;
