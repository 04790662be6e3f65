/**
 * `listeners(how, channel)`: how many clients are subscribed to Redisson's channel of a lock at this server, in the ways in which
 * Java is reached. Clients at replicas are not counted, nor are, on plain channels, clients at other nodes of a cluster.
 */
export const listeners = `
local function listeners(how, channel)
  local count = 0
  for each, word in pairs({publish = 'NUMSUB', spublish = 'SHARDNUMSUB'}) do
    if how == each or how == 'both' then
      local told = redis.pcall('PUBSUB', word, channel)
      count = count + (told.err and 0 or told[2])
    end
  end
  return count
end
`;
