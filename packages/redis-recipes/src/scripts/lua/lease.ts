/**
 * `holdFor(lock, leaseMs)`: sets the remaining time of a hold to `leaseMs` unless it has more, and returns the remaining time.
 * One command is mostly enough. `GT` would leave a key without a TTL unchanged, so the rest handles that case.
 */
export const lease = `
local function holdFor(lock, leaseMs)
  if redis.call('PEXPIRE', lock, leaseMs, 'GT') == 1 then return leaseMs end
  local left = redis.call('PTTL', lock)
  if left >= leaseMs then return left end
  redis.call('PEXPIRE', lock, leaseMs)
  return leaseMs
end
`;
