/**
 * The hash of a read-write lock. `look(lock, owner)`: `free`; `held`, the writer (empty for readers) and the mode; or `conflict` and what is
 * there instead. A hash without `mode` is a mutex, in which a read hold would stand beside the holder. `put` writes a writer.
 * `holdOf` is the key of a read hold. `endWrite` needs `passOn`.
 */
export const readWriteState = `
local function look(lock, owner)
  local kind = redis.call('TYPE', lock).ok
  if kind == 'none' then return 'free', '' end
  if kind ~= 'hash' then return 'conflict', kind end
  local mode = redis.call('HGET', lock, 'mode')
  if not mode then return 'conflict', 'mutex' end
  if mode == 'read' then return 'held', '', 'read' end
  if mode ~= 'write' then return 'conflict', 'hash' end
  if owner and redis.call('HEXISTS', lock, owner .. ':write') == 1 then return 'held', owner, 'write' end
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    local writer = string.match(field, '^(.*):write$')
    if writer then return 'held', writer, 'write' end
  end
  return 'held', '', 'write'
end
local function put(lock, owner, leaseMs)
  redis.call('HSET', lock, 'mode', 'write', owner .. ':write', '1')
  redis.call('PEXPIRE', lock, leaseMs)
end
local function holdOf(prefix, owner, level) return prefix .. owner .. ':rwlock_timeout:' .. level end
`;

/** `endWrite(k, owner, opts)`: ends a write hold that is there; a read hold of the same owner makes it a downgrade. */
export const endWrite = `
local function endWrite(k, owner, opts)
  redis.call('HDEL', k.lock, owner .. ':write')
  if redis.call('HLEN', k.lock) > 1 then
    redis.call('HSET', k.lock, 'mode', 'read')
    tellRedisson(opts.how, opts.channel, '1')
    return {'downgraded', nowUs, '', mute}
  end
  opts.message = '1'
  return passOn(k, opts)
end
`;
