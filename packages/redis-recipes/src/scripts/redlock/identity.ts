import type { Reply } from "../script.js";

/** The key in which a voting node records who it is. One for each node and database, whatever the names of the locks. */
export const nodeIdentityKey = "holdfast_redlock_node";

/**
 * `seen(key, guard, longestMs)`: returns how long the server has been the same server, and the longest lease that any client has
 * asked of it; -1 and 0 with the guard off. The run id is read in the script itself, so that no reconnect can come between. A
 * server that differs from the one in the key, or that has no key, may have forgotten votes. It records itself as new.
 */
export const identity = `
local runId = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
local function seen(key, guard, longestMs)
  if not guard then return -1, 0 end
  local known = redis.pcall('HMGET', key, 'run_id', 'first_seen_ms', 'longest_lease_ms')
  if known.err then return 0, longestMs end
  local firstMs, longest = tonumber(known[2]), math.max(tonumber(known[3]) or 0, longestMs)
  if known[1] ~= runId or not firstMs or firstMs > nowMs then
    firstMs = nowMs
    redis.call('HSET', key, 'run_id', runId, 'first_seen_ms', string.format('%.0f', nowMs),
      'longest_lease_ms', string.format('%.0f', longest))
  elseif longest ~= tonumber(known[3]) then
    redis.call('HSET', key, 'longest_lease_ms', string.format('%.0f', longest))
  end
  return nowMs - firstMs, longest
end
`;

/** The values with which each answer of a voting node begins. */
export interface NodeAnswer {
  readonly serverMs: number;
  readonly runId: string;
  /** For how long it has been the same server; -1 with the guard off. */
  readonly ageMs: number;
  /** The longest lease that any client has asked of it. */
  readonly longestLeaseMs: number;
}

export function readNode(reply: Reply): NodeAnswer {
  return {
    serverMs: reply.serverMs(),
    runId: reply.text(),
    ageMs: reply.integer(),
    longestLeaseMs: reply.integer(),
  };
}
