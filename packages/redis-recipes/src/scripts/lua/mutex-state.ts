/** The hash fields of a mutex that `owner` holds. */
export const mutexFields = (owner: string): string => `${owner}, '1'`;

/** `put(lock, owner, leaseMs)`: writes the holder of a free mutex. It sets the count, and does not add to it. */
export const putMutex: string = `
local function put(lock, owner, leaseMs)
  redis.call('HSET', lock, ${mutexFields("owner")})
  redis.call('PEXPIRE', lock, leaseMs)
end
`;

/**
 * Reads the hash of a mutex. `look(lock)` returns `free`; `held` and the holder; or `conflict` and what is there instead: another
 * type, a read-write lock, or a hash that no lock writes.
 */
export const lookAtMutex = `
local function look(lock)
  local fields = redis.pcall('HLEN', lock)
  if fields == 0 then return 'free', '' end
  if type(fields) ~= 'number' then return 'conflict', redis.call('TYPE', lock).ok end
  if fields > 1 then
    return 'conflict', redis.call('HEXISTS', lock, 'mode') == 1 and 'read-write-lock' or 'hash'
  end
  local all = redis.call('HGETALL', lock)
  if all[1] == 'mode' then return 'conflict', 'read-write-lock' end
  if not string.match(all[2], '^%d+$') then return 'conflict', 'hash' end
  return 'held', all[1]
end
`;

/** Both functions, for queue and hand-off. */
export const mutexState: string = lookAtMutex + putMutex;
