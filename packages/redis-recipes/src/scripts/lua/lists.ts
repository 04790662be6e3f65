/** So many entries are taken out of a list one by one, each with a search; of more the list is written anew without them. */
const fewEntries = 32;

/**
 * Functions for lists and sets of any length. `inParts` makes calls with all items, in parts that fit one; `scoreAll` takes scores and
 * members, one after the other. `without(key, all, gone, count)` takes `count` entries out of a list that has been read as `all`: those
 * that `gone` names. The list keeps its TTL.
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
