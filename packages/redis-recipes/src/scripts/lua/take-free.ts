import { raiseToken } from "./token.js";

/**
 * The short way of an acquire. It grants a lock that is free and has no waiter of ours. In any other case it has changed nothing, and what
 * stands behind it decides. It is written without functions and tables of its own, because making them costs the server as much as
 * three commands. Needs `clock`. `put`: the fields of the hash, as HSET takes them. Arguments: as `standArgs` gives them.
 *
 * A lock is free when its key is absent, whatever type it might have had. Without the list of waiters there is no live waiter in front, and
 * then no waiter has been offered a turn either. The token takes one command: the server's microseconds are written, and what was there before comes back. Where
 * that was as high as the clock, or higher, or this client has seen a higher one, the token is written again above it. Something that is no
 * token is put back as it was; it loses a time to live of its own only where this client has seen a token there before, since `NX`
 * keeps what is there from a client that has not. A lock whose changes are published goes the long way.
 *
 * The lease is the whole one: it began after the request was sent. A token that is the server's time is the whole answer. Any other comes
 * with that time, and with the token that was there before, 0 for none, by which a client that keeps locks knows whether it had this one
 * last.
 */
export function takeFree(put: string): string {
  return `
if ARGV[8] == '' and redis.call('EXISTS', KEYS[1], KEYS[3]) == 0 then
  local floor, ttlMs = tonumber(ARGV[3]), tonumber(ARGV[7])
  local text = string.format('%.0f', nowUs)
  local options = {}
  if ttlMs > 0 then options = {'PX', ARGV[7]} end
  if floor == 0 then options[#options + 1] = 'NX' end
  local before = redis.pcall('SET', KEYS[2], text, 'GET', unpack(options))
  local last = math.huge
  if not before then last = 0
  elseif type(before) == 'string' and string.match(before, '^%d+$') then last = tonumber(before) end
  if last < 9007199254740000 then
    local whole = last < nowUs and floor < nowUs and (floor > 0 or not before)
    if not whole then
      ${raiseToken}
      text = raiseToken(KEYS[2], math.max(last + 1, floor + 1, nowUs), ttlMs)
    end
    redis.call('HSET', KEYS[1], ${put})
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
    if ARGV[9] then return {'granted', nowUs, text, tonumber(ARGV[4]), before or '0'} end
    if whole then return nowUs end
    return {'granted', nowUs, text, tonumber(ARGV[4])}
  elseif floor > 0 and type(before) == 'string' then redis.call('SET', KEYS[2], before) end
end
`;
}
