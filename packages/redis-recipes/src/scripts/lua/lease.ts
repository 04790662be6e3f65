/**
 * `holdFor(lock, leaseMs)`: gives a hold so much time, and never less than it has; what it has left then. Mostly that is one command. `GT` leaves
 * a key that has no time to live without one.
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
