import { clock } from "../lua/clock.js";
import { heldToken } from "../lua/held-token.js";
import { type RenewAnswer, renewalsReader } from "../mutex/renew.js";
import type { BatchScript } from "../script.js";

export interface MarkerRenewArgs {
  /** How much longer a marker lives than the lease. */
  readonly extraMs: number;
}

export interface MarkerRenewEntry {
  readonly leaseMs: number;
}

/**
 * Extends the markers of takes that are still held.
 *
 * Keys of each entry: permits, token, marker of the take. Arguments: by how many ms a marker outlives the lease; then for each
 * entry the lease ms. Answer for each entry: renewed (token, the lease) / gone if the take was given back or undone, with server
 * time.
 *
 * Redisson's semaphore has no leases: this renews only our marker, and changes no number of permits.
 */
export const semaphoreRenew: BatchScript<MarkerRenewArgs, MarkerRenewEntry, RenewAnswer> = {
  name: "semaphore-renew",
  keyCount: 3,
  lua: `${clock}${heldToken}
local answers = {}
for i = 0, #KEYS / 3 - 1 do
  local marker, leaseMs = KEYS[3 * i + 3], tonumber(ARGV[i + 2])
  if redis.call('GET', marker) == 'taken' then
    local lifeMs = leaseMs + tonumber(ARGV[1])
    if redis.call('PTTL', marker) < lifeMs then redis.call('PEXPIRE', marker, lifeMs) end
    answers[i + 1] = {'renewed', nowUs, heldToken(KEYS[3 * i + 2]), leaseMs}
  else
    answers[i + 1] = {'gone', nowUs}
  end
end
return answers
`,
  args: (common, entries) => [common.extraMs, ...entries.map((each) => each.leaseMs)],
  parse: renewalsReader("semaphore-renew"),
};
