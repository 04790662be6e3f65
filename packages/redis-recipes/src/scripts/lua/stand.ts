import { keepers } from "./publish.js";
import { nextToken } from "./token.js";
import { entryOf, farPlace, firstWaiter, isQueued, placeOf, touching } from "./waiters.js";

/** `leave(k, owner, leaseMs)`: takes an owner out of our queue. Returns whether it was there. Needs `entryOf`. */
export const leaveQueue = `
local function leave(k, owner, leaseMs)
  local removed = redis.call('LREM', k.waiters, 1, entryOf(owner, leaseMs))
  return redis.call('ZREM', k.alive, owner) + removed > 0
end
`;

/**
 * `keepPlace(k, me, ask)`: the owner counts as alive from now, and is in the queue exactly once. Returns its place, and 1 where
 * it was appended now. List and set are written together, so an owner that is missing in the set is missing in the list too. The
 * list is searched only where the two differ in size, as after the loss of one key. An entry that turns out to be a second one is
 * then removed again.
 */
const keepPlace = `
local function keepPlace(k, me, ask)
  local known = redis.call('ZADD', k.alive, nowMs + ask.aliveMs, ask.owner) == 0
  local length = known and redis.call('LLEN', k.waiters) or redis.call('RPUSH', k.waiters, me)
  local whole = length == redis.call('ZCARD', k.alive)
  if whole and known then
    touch(k, ask.aliveMs)
    return placeOf(k.waiters, me), 0
  end
  if not whole then
    local place = redis.call('LPOS', k.waiters, me)
    local before = place and (known or place < length - 1)
    if before and not known then redis.call('LREM', k.waiters, -1, me) end
    if not place then length = redis.call('RPUSH', k.waiters, me) end
    touchAll(k, ask.aliveMs)
    if before then return math.min(place, ${farPlace}), 0 end
  end
  touch(k, ask.aliveMs)
  return math.min(length - 1, ${farPlace}), 1
end
`;

/**
 * The longest turn of Java on a lock that our scripts have freed for it. A longer turn in the run key means that the clock has
 * jumped.
 */
export const longestTurnMs = 500;

/**
 * `stand(k, ask)`: what acquire and heartbeat do for one owner, with `look` and `put` of the kind of lock; `put` is given as the
 * argument. Needs `messages`, `lastToken` and `raiseToken`. Functions that only a free lock needs are defined in that branch,
 * since most calls find a lock that is held. `ask` has owner, leaseMs (wanted), grantMs (given if granted now), mayWait,
 * asksKeeper, aliveMs, tokenTtlMs, floor, changes, short.
 *
 * If the owner was granted before, the answer says so with the time that is left, and nothing is extended. An owner that took
 * this lease for a new one would rely on it for too long, and two clients would believe that they hold.
 *
 * If the lock is free, it is not Java's turn, and no live waiter is in front, then the owner becomes the holder. The holder is
 * written before the owner leaves the queue, since a server without memory refuses only the first write. Otherwise the owner is
 * queued once. During Java's turn the time left in the answer is that of the turn, so that the first waiter asks again when it is
 * over. The turn also ends when no client of ours waits any more.
 *
 * `floor` is the highest token that the client has seen. After a failover that lost writes, the token key is raised to it, and to
 * one more while the lock is held: the holder's token, when it is read again, must not equal one that another client had.
 *
 * A holder whose provider may keep the lock gets a message that it is wanted. It is sent for each request that was refused or
 * appended, and for each heartbeat of the first waiter, since a message may be lost. `asksKeeper`: a request that may not wait is
 * queued behind such a holder all the same, if it is first there.
 *
 * `short`: an owner that was appended behind others gets three numbers as its answer, since it needs neither the holder nor its
 * time: server time in us, last token, position.
 */
export function stand(put: string): string {
  return `${keepers}${entryOf}${placeOf}${touching}${keepPlace}
local function stand(k, ask)
  local state, holder = look(k.lock, ask.owner)
  if state == 'conflict' then return {'conflict', nowUs, holder} end
  local last = lastToken(k.token)
  if not last then return {'conflict', nowUs, 'token'} end
  local me = entryOf(ask.owner, ask.leaseMs)
  if ask.floor > last then
    last = state == 'free' and ask.floor or ask.floor + 1
    raiseToken(k.token, last, ask.tokenTtlMs)
  end
  if state == 'held' and holder == ask.owner then
    return {'granted', nowUs, string.format('%.0f', last), redis.call('PTTL', k.lock)}
  end
  local turnMs = 0
  if state == 'free' then
    ${isQueued}${leaveQueue}${firstWaiter}${put}${nextToken}
    local queued = isQueued(k.waiters, me, k.alive, ask.owner)
    if queued then redis.call('ZADD', k.alive, nowMs + ask.aliveMs, ask.owner) end
    local head = liveHead(k, ask.aliveMs)
    local turn = head and string.match(redis.call('GET', k.run) or '', 'j(%d+)$')
    if turn then turnMs = math.max(0, tonumber(turn) - nowMs) end
    if turnMs > ${longestTurnMs} then turnMs = 0 end
    if turnMs == 0 and (not head or head == ask.owner) then
      put(k.lock, ask.owner, ask.grantMs)
      leave(k, ask.owner, ask.leaseMs)
      local text = nextToken(k.token, last, ask.tokenTtlMs)
      if ask.changes ~= '' then say('PUBLISH', ask.changes, '1') end
      return {'granted', nowUs, text, ask.grantMs}
    end
  end
  local text = string.format('%.0f', last)
  local stands = ask.mayWait
  if not stands and ask.asksKeeper and mayBeKept(holder) then
    ${firstWaiter}
    stands = not liveHead(k)
  end
  if not stands then
    tellKeeper(k.lock, holder)
    return {'busy', nowUs, turnMs > 0 and turnMs or redis.call('PTTL', k.lock), holder, text}
  end
  local position, appended = keepPlace(k, me, ask)
  if position == 0 or appended == 1 then tellKeeper(k.lock, holder) end
  if ask.short and position > 0 and appended == 1 then return {nowUs, last, position} end
  return {'queued', nowUs, turnMs > 0 and turnMs or redis.call('PTTL', k.lock), holder, text, position, appended}
end
`;
}
