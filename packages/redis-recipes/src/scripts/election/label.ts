import { clock } from "../lua/clock.js";
import { publish } from "../lua/publish.js";
import { waiters } from "../lua/waiters.js";
import { type CallScript, Reply } from "../script.js";

export interface LabelArgs {
  readonly owner: string;
  /** The lease as given when it stood. */
  readonly leaseMs: number;
  readonly label: string;
  /** Labels vanish so long after the last of these calls. */
  readonly ttlMs: number;
  readonly changes: string;
}

export type LabelAnswer =
  | { readonly status: "labelled"; readonly serverMs: number; readonly publishError: string }
  /** Neither leads nor stands. */
  | { readonly status: "gone"; readonly serverMs: number };

function readLabel(raw: unknown): LabelAnswer {
  const reply = new Reply("election-label", raw);
  const status = reply.text();
  const serverMs = reply.serverMs();
  if (status === "gone") return reply.end({ status, serverMs });
  if (status !== "labelled") throw reply.unknownStatus(status);
  return reply.end({ status, serverMs, publishError: reply.text() });
}

/**
 * Sets what others read of one that leads or stands, and forgets what those who are gone had said.
 *
 * Keys: lock, waiters, labels. Arguments: owner, lease ms, label, TTL of all labels ms, channel of changes. Answer: labelled (publish error) / gone; server
 * time in each. Redisson has no election.
 */
export const electionLabel: CallScript<LabelArgs, LabelAnswer> = {
  name: "election-label",
  keyCount: 3,
  lua: `${clock}${publish}${waiters}
local there = {}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do there[field] = true end
for _, entry in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  there[string.match(entry, '^(.*) %d+$') or entry] = true
end
for _, owner in ipairs(redis.call('HKEYS', KEYS[3])) do
  if not there[owner] then redis.call('HDEL', KEYS[3], owner) end
end
if not there[ARGV[1]] then return {'gone', nowUs} end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
if redis.call('PTTL', KEYS[3]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[3], ARGV[4]) end
say('PUBLISH', ARGV[5], '1')
return {'labelled', nowUs, mute}
`,
  args: (given) => [given.owner, given.leaseMs, given.label, given.ttlMs, given.changes],
  parse: readLabel,
};
