/** `heldToken(key)`: the token of whoever holds, for its renewal; 0 where the key is gone or holds something else. */
export const heldToken = `
local function heldToken(key)
  local last = redis.pcall('GET', key)
  return type(last) == 'string' and string.match(last, '^%d+$') or '0'
end
`;
