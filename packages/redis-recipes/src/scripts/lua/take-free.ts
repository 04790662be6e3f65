import { raiseToken } from "./token.js";

/**
 * The short way of an acquire. It grants a lock that is free and has no waiter of ours. In any other case it changes nothing, and
 * the code behind it decides. It has no functions and tables of its own, because making them costs the server as much as three
 * commands. Needs `clock`. `put`: the fields of the hash, as HSET takes them. Arguments: as `standArgs` gives them.
 *
 * A lock is free when its key is absent, whatever its type was. Without the list of waiters there is no live waiter in front, and
 * no turn of Java either, since a turn counts only while a client of ours waits.
 *
 * The token takes one command: it writes the server's microseconds and returns the previous value. If that value, or the token
 * floor of this client, is not below the clock, the token is written again above both. A value that is not a token is put back.
 * It loses its own TTL only if this client has seen a token there before: for a client that has not, `NX` leaves the value
 * untouched. A lock whose changes are published goes the long way.
 *
 * The grant has the whole lease, which began after the request was sent. If the token is the server's time, it is the whole
 * answer. Otherwise the answer has both. A client that keeps locks also gets the previous token, 0 for none, which shows whether
 * it was the last holder.
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
