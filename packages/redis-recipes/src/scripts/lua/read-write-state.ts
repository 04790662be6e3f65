import { tellRedisson } from "./publish.js";

/** The hash fields of a read-write lock that `owner` writes. */
export const writerFields = (owner: string): string => `'mode', 'write', ${owner} .. ':write', '1'`;

/** `put(lock, owner, leaseMs)`: writes the writer of a free lock. */
export const putWriter: string = `
local function put(lock, owner, leaseMs)
  redis.call('HSET', lock, ${writerFields("owner")})
  redis.call('PEXPIRE', lock, leaseMs)
end
`;

/**
 * Reads the hash of a read-write lock. `look(lock, owner)` returns `free`; `held`, the writer (empty where readers hold) and the
 * mode; or `conflict` and what is there instead. A hash without `mode` is a mutex: a read hold would stand in it beside its
 * holder.
 */
export const lookAtReadWrite = `
local function look(lock, owner)
  local mode = redis.pcall('HGET', lock, 'mode')
  if type(mode) == 'table' then return 'conflict', redis.call('TYPE', lock).ok end
  if not mode and redis.call('EXISTS', lock) == 0 then return 'free', '' end
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
`;

/**
 * A reader of Redisson's has one key for each time that it entered. No more than this many are read: other programs can write any
 * number into the hash, and no number may block the server.
 */
export const mostLevels = 100;

/** `look`, `put`, and `holdOf`, which gives the key of a read hold. */
export const readWriteState: string = `${lookAtReadWrite}${putWriter}
local function holdOf(prefix, owner, level) return prefix .. owner .. ':rwlock_timeout:' .. level end
`;

/**
 * `endWrite(k, opts)`: does what follows the end of a write hold. Where the same owner also has a read hold, the end is a
 * downgrade. Needs `passOn`.
 */
export const endWrite: string = `
local function endWrite(k, opts)
  if redis.call('HLEN', k.lock) > 1 then
    redis.call('HSET', k.lock, 'mode', 'read')
    ${tellRedisson}
    tellRedisson(opts.how, opts.channel, '1')
    return {'downgraded', nowUs, mute}
  end
  redis.call('DEL', k.lock)
  opts.message = '1'
  return passOn(k, opts)
end
`;
