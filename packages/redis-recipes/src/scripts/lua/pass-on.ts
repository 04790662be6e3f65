import { listeners } from "./listeners.js";
import { nudge, tellRedisson } from "./publish.js";
import { longestTurnMs } from "./stand.js";
import { drawToken } from "./token.js";

/** `javasTurn(k, opts, began)`: what the run key says of the turn of Java; nil where there is none. */
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
 * `passOn(k, opts)`: picks who is next after a hold that the script has just ended; the key of the lock is gone. The first live
 * waiter of ours becomes holder with the claim lease and gets a message, unless so many hand-offs went before that a Java
 * waiter has to get its chance. Then, or where no client of ours waits, the lock is freed: Redisson's waiters get their message and our
 * first waiter a nudge. A token key that holds something else also frees: the next client that asks gets a layout conflict. So do keys of the
 * queue that hold something else. The hold is over by then, so nothing in here may fail. The server's time alone is the answer where the
 * lock was handed over and its message published: the caller reads nothing else.
 *
 * The run key says how many hand-offs there were in a row and when the first was. Once freed for Java it says `j` and until when
 * the lock is Java's: `stand` grants nothing before. One race would not do, since a JVM that has to wake a thread loses it nearly
 * always. The turn is in proportion: as long as our run took for each of our contenders, for each client that listens to Redisson's
 * channel. A server sees only the clients that are subscribed to itself; without any there is no turn, and no time goes by unused.
 *
 * Of a read-write lock, freed while a writer of ours waits: `r` in front says until when our readers may pass that writer.
 *
 * The run id in the message is that of the server which writes the grant. A connection of ours gives it as an argument: it has read it from
 * the server at its other end and never sends a command twice. For a given client the script reads it, since such a client may send a
 * command again on a connection to another server. That costs as much as five commands.
 *
 * Needs `put` of the kind of lock, `messages` and `firstWaiter`. What only a plain release asks for is defined there: making it
 * would cost each hand-over as much as a command.
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
