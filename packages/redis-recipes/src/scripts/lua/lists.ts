/**
 * Up to this many entries are removed from a list one by one, each with a search. To remove more, the list is written again
 * without them.
 */
const fewEntries = 32;

/**
 * Functions for lists and sets of any length.
 *
 * - `inParts(items, call)` calls `call` with all items, in parts that fit into one call.
 * - `scoreAll` takes scores and members in turn.
 * - `without(key, all, gone, count)` removes the `count` entries that `gone` names from a list that was read as `all`. The list
 *   keeps its TTL.
 */
export const lists: string = `
local function inParts(items, call)
  for from = 1, #items, 1000 do call(unpack(items, from, math.min(from + 999, #items))) end
end
local function scoreAll(key, scored) inParts(scored, function(...) redis.call('ZADD', key, ...) end) end
local function dropAll(key, members) inParts(members, function(...) redis.call('ZREM', key, ...) end) end
local function without(key, all, gone, count)
  if count > ${fewEntries} then
    local pttl, stay = redis.call('PTTL', key), {}
    for _, each in ipairs(all) do
      if not gone[each] then stay[#stay + 1] = each end
    end
    redis.call('DEL', key)
    inParts(stay, function(...) redis.call('RPUSH', key, ...) end)
    if pttl > 0 then redis.call('PEXPIRE', key, pttl) end
  elseif count > 0 then
    for each in pairs(gone) do redis.call('LREM', key, 0, each) end
  end
end
`;
