/**
 * The short way of an acquire: `takeFree(k, ask)` grants a lock that is free and has no waiter of ours, and is nil in any other case, in
 * which it has changed nothing and `stand` decides. Needs `put` of the kind of lock.
 *
 * A lock is free when its key is absent, whatever type it might have had. Without the list of waiters there is no live waiter in front, and
 * then no waiter has been offered a turn either. The token takes one command: the server's microseconds are written, and what was there before comes back. Where
 * that was as high as the clock, or higher, or this client has seen a higher one, the token is written again above it. Something that is no
 * token is put back as it was; it loses a time to live of its own only where this client has seen a token there before, since `NX`
 * keeps what is there from a client that has not.
 *
 * The lease in the answer is the whole one: it began after the request was sent. `tellsBefore`: behind it the token that was there before, 0
 * for none, by which a client that keeps locks knows whether it had this one last.
 */
export const takeFree = `
local function drawToken(key, floor, ttlMs)
  local text = string.format('%.0f', nowUs)
  local options = {}
  if ttlMs > 0 then options = {'PX', ttlMs} end
  if floor == 0 then options[#options + 1] = 'NX' end
  local before = redis.pcall('SET', key, text, 'GET', unpack(options))
  if type(before) == 'table' then return nil end
  local last = 0
  if before then last = string.match(before, '^%d+$') and tonumber(before) or math.huge end
  if last >= 9007199254740000 then
    if floor > 0 then redis.call('SET', key, before) end
    return nil
  end
  local written = floor > 0 or not before
  if written and last < nowUs and floor < nowUs then return text, before end
  text = string.format('%.0f', math.max(last + 1, floor + 1, nowUs))
  if ttlMs > 0 then redis.call('SET', key, text, 'PX', ttlMs) else redis.call('SET', key, text) end
  return text, before
end
local function takeFree(k, ask)
  if redis.call('EXISTS', k.lock, k.waiters) > 0 then return nil end
  local text, before = drawToken(k.token, ask.floor, ask.tokenTtlMs)
  if not text then return nil end
  put(k.lock, ask.owner, ask.leaseMs)
  if ask.changes ~= '' then redis.pcall('PUBLISH', ask.changes, '1') end
  return {'granted', nowUs, text, ask.leaseMs, ask.tellsBefore and (before or '0') or nil}
end
`;
