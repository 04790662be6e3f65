import { clock } from "../lua/clock.js";
import { type BatchScript, Reply } from "../script.js";

export interface RenewEntry {
  /** The owner; of a write lock its writer field. */
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

export function readRenewals(script: string, raw: unknown): readonly RenewAnswer[] {
  if (!Array.isArray(raw)) return new Reply(script, raw).end([]);
  return raw.map((each) => {
    const reply = new Reply(script, each);
    const status = reply.text();
    const serverMs = reply.serverMs();
    if (status === "gone") return reply.end({ status, serverMs });
    if (status !== "renewed") throw reply.unknownStatus(status);
    return reply.end({ status, serverMs, token: reply.token(), pttlMs: reply.integer() });
  });
}

/**
 * Sets the time that holds of one client have left to their full leases, and never to less than they have.
 *
 * Keys of each entry: lock, token. Arguments of each entry: the hash field, lease ms. Answer for each entry: renewed (token, PTTL) / gone, with
 * server time.
 *
 * As Redisson's watchdog, where the field is there, except that a longer time left stays: a late copy cannot shorten what a later
 * request had set. Serves mutex, fair lock, spin lock, leadership and, by its writer field, the write lock.
 */
export const renew: BatchScript<null, RenewEntry, RenewAnswer> = {
  name: "renew",
  keyCount: 2,
  lua: `${clock}
local answers = {}
for i = 0, #KEYS / 2 - 1 do
  local lock, leaseMs = KEYS[2 * i + 1], tonumber(ARGV[2 * i + 2])
  local count = redis.pcall('HGET', lock, ARGV[2 * i + 1])
  if type(count) == 'string' then
    if redis.call('PTTL', lock) < leaseMs then redis.call('PEXPIRE', lock, leaseMs) end
    local last = redis.pcall('GET', KEYS[2 * i + 2])
    if type(last) ~= 'string' or not string.match(last, '^%d+$') then last = '0' end
    answers[i + 1] = {'renewed', nowUs, last, redis.call('PTTL', lock)}
  else
    answers[i + 1] = {'gone', nowUs}
  end
end
return answers
`,
  args: (_common, entries) => entries.flatMap((each) => [each.field, each.leaseMs]),
  parse: (raw) => readRenewals("renew", raw),
};
