import { listeners } from "./listeners.js";
import { nudge, tellRedisson } from "./publish.js";
import { longestTurnMs } from "./stand.js";
import { drawToken } from "./token.js";

/** `javasTurn(k, opts, began)`: the text in the run key for Java's turn; nil where there is no turn. */
const javasTurn: string = `${listeners}
local function javasTurn(k, opts, began)
  local java = opts.maxRun < 0 and 0 or listeners(opts.how, opts.channel)
  if java == 0 then return nil end
  local each = (nowMs - began) / (redis.call('LLEN', k.waiters) + 1)
  local turnMs = math.max(20, math.min(${longestTurnMs}, math.floor(each * java)))
  return 'j' .. string.format('%.0f', nowMs + turnMs)
end
`;

/**
 * `passOn(k, opts)`: decides who is next after a hold that the script has just ended, when the key of the lock is gone. Our first
 * live waiter becomes the holder with the claim lease and gets a message. There are two exceptions, in which the lock is freed
 * instead: no client of ours waits, or so many hand-offs came in a row that a Java waiter must get its chance. On freeing,
 * Redisson's waiters get their message and our first waiter gets a nudge. The lock is also freed if the token key holds something
 * else: the next client that asks gets a layout conflict. The same holds if keys of the queue hold something else. The hold is
 * already over, so nothing in here may fail.
 *
 * The answer is the server's time alone if the lock was handed over and its message was published: the caller needs nothing more.
 *
 * The run key holds how many hand-offs came in a row and when the first one was. After a release for Java it holds `j` and the
 * time until which it is Java's turn; `stand` grants nothing before. A single race would not be enough, since a JVM that has to
 * wake a thread nearly always loses it. The turn is proportional: the time of our run for each of our contenders, times the
 * clients that listen to Redisson's channel. A server sees only its own subscribers. Without any there is no turn, so no time is
 * wasted.
 *
 * For a read-write lock that is freed while a writer of ours waits, `r` in front gives the time until which our readers may pass
 * that writer.
 *
 * The message carries the run id of the server that writes the grant. A connection of ours passes it as an argument: it has read
 * the run id from the server at its other end, and never sends a command twice. For a given client the script reads the run id
 * itself, since such a client may send a command again on a connection to another server. Reading it costs as much as five
 * commands.
 *
 * Needs `put` of the kind of lock, `messages` and `firstWaiter`. Functions that only freeing needs are defined in that branch,
 * since making them would cost each hand-over as much as a command.
 */
export const passOn: string = `${drawToken}
local function passOn(k, opts)
  local turns = redis.pcall('GET', k.run)
  local count, began = string.match(type(turns) == 'string' and turns or '', '^(%d+) (%d+)$')
  local run = tonumber(count or '0')
  began = tonumber(began) or nowMs
  local readable, head, leaseMs, alive = pcall(liveHead, k)
  if not readable then head = nil end
  local direct = head and alive and (opts.maxRun < 0 or run < opts.maxRun)
  local text = direct and drawToken(k.token, opts.tokenTtlMs)
  if text then
    redis.call('LPOP', k.waiters)
    redis.call('ZREM', k.alive, head)
    leaseMs = math.min(opts.claimMs, leaseMs)
    put(k.lock, head, leaseMs)
    redis.call('SET', k.run, string.format('%.0f %.0f', run + 1, began), 'PX', 10 * opts.aliveMs)
    local runId = opts.runId
    if runId == '' then
      local info = redis.pcall('INFO', 'server')
      runId = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
    end
    tellOwner(head, {type = 'granted', key = k.lock, owner = head, token = text,
      pttl = string.format('%.0f', leaseMs), at = string.format('%.0f', nowUs), run = runId})
  else
    ${tellRedisson}${nudge}${javasTurn}
    redis.call('DEL', k.run)
    if head then
      local turns = {}
      if opts.turnMs then turns[1] = 'r' .. string.format('%.0f', nowMs + opts.turnMs) end
      turns[#turns + 1] = javasTurn(k, opts, began)
      if #turns > 0 then redis.call('SET', k.run, table.concat(turns, ' '), 'PX', 10 * opts.aliveMs) end
    end
    tellRedisson(opts.how, opts.channel, opts.message)
    nudge(k, head)
  end
  if opts.changes ~= '' then say('PUBLISH', opts.changes, '1') end
  if text and mute == '' then return nowUs end
  return {text and 'handed' or 'freed', nowUs, mute}
end
`;
