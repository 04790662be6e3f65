/**
 * `heldToken(key)`: the token of the present holder, for its renewal. It is 0 where the key is gone or holds something else, such
 * as a number from which no script would continue.
 */
export const heldToken = `
local function heldToken(key)
  local last = redis.pcall('GET', key)
  local known = type(last) == 'string' and #last <= 16 and string.match(last, '^%d+$')
  return known and tonumber(known) < 9007199254740000 and known or '0'
end
`;
