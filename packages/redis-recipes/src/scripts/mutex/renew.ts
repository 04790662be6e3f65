import { clock } from "../lua/clock.js";
import { heldToken } from "../lua/held-token.js";
import { lease } from "../lua/lease.js";
import { answerReader, type BatchScript, eachReader, nothingMore } from "../script.js";

export interface RenewEntry {
  /** The owner; for a write lock its writer field. */
  readonly field: string;
  readonly leaseMs: number;
}

export type RenewAnswer =
  | {
      readonly status: "renewed";
      readonly serverMs: number;
      /** The token key's value, which is this holder's token while it holds. */
      readonly token: bigint;
      readonly pttlMs: number;
    }
  | { readonly status: "gone"; readonly serverMs: number };

export function renewalsReader(script: string): (raw: unknown) => readonly RenewAnswer[] {
  const read = answerReader<RenewAnswer>(script, {
    gone: nothingMore,
    renewed: (reply) => ({ token: reply.token(), pttlMs: reply.integer() }),
  });
  return eachReader(script, read);
}

/**
 * Sets the remaining time of one client's holds to their full leases, and never to less than they have.
 *
 * Keys of each entry: lock, token. Arguments of each entry: the hash field, lease ms. Answer for each entry: renewed (token,
 * PTTL) / gone, with server time.
 *
 * As Redisson's watchdog where the field is there, except that a longer remaining time is kept: a late copy cannot shorten what a
 * later request has set. Used by mutex, fair lock, spin lock, leadership and, with its writer field, the write lock.
 */
export const renew: BatchScript<null, RenewEntry, RenewAnswer> = {
  name: "renew",
  keyCount: 2,
  lua: `${clock}${heldToken}${lease}
local answers = {}
for i = 0, #KEYS / 2 - 1 do
  local lock, leaseMs = KEYS[2 * i + 1], tonumber(ARGV[2 * i + 2])
  local count = redis.pcall('HGET', lock, ARGV[2 * i + 1])
  if type(count) == 'string' then
    local left = holdFor(lock, leaseMs)
    answers[i + 1] = {'renewed', nowUs, heldToken(KEYS[2 * i + 2]), left}
  else
    answers[i + 1] = {'gone', nowUs}
  end
end
return answers
`,
  args: (_common, entries) => entries.flatMap((each) => [each.field, each.leaseMs]),
  parse: renewalsReader("renew"),
};
