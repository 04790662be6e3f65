/**
 * `passOn(k, opts)`: ends the present hold, which the caller has found to be its own, and picks who is next. The first live
 * waiter of ours becomes holder with the claim lease and is told, unless so many hand-offs went before that a Java
 * waiter has to get its chance; then, or where nobody of ours waits, the lock is freed, Redisson's waiters get their message and our
 * first waiter a nudge. A token key that holds something else also frees: whoever comes next is told of the conflict.
 *
 * Of a read-write lock, freed while a writer of ours waits: the run key says until when our readers may pass that writer.
 *
 * The run id in the message is read by the script, since only so it is that of the server which wrote the grant.
 */
export const passOn = `
local function runId()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
end
local function nudge(k, head)
  if head then tellOwner(head, {type = 'nudge', key = k.lock, owner = head}) end
end
local function passOn(k, opts)
  local last = lastToken(k.token)
  local run = tonumber(redis.call('GET', k.run) or '0') or 0
  local head, leaseMs = liveHead(k)
  redis.call('DEL', k.lock)
  local told = 'freed'
  if head and last and (opts.maxRun < 0 or run < opts.maxRun) then
    redis.call('LPOP', k.waiters)
    redis.call('ZREM', k.alive, head)
    put(k.lock, head, math.min(opts.claimMs, leaseMs))
    local text = nextToken(k.token, last, opts.tokenTtlMs)
    redis.call('SET', k.run, run + 1)
    touch(k, opts.aliveMs)
    tellOwner(head, {type = 'granted', key = k.lock, owner = head, token = text,
      pttl = string.format('%.0f', redis.call('PTTL', k.lock)), at = string.format('%.0f', nowUs), run = runId()})
    told = 'handed'
  else
    redis.call('DEL', k.run)
    if head then
      if opts.turnMs then redis.call('SET', k.run, 'r' .. string.format('%.0f', nowMs + opts.turnMs)) end
      touch(k, opts.aliveMs)
    end
    tellRedisson(opts.how, opts.channel, opts.message)
    nudge(k, head)
  end
  if opts.changes ~= '' then say('PUBLISH', opts.changes, '1') end
  return {told, nowUs, head or '', mute}
end
`;
