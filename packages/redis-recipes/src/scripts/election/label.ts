import { clock } from "../lua/clock.js";
import { publish } from "../lua/publish.js";
import { isQueued } from "../lua/waiters.js";
import { type CallScript, Reply } from "../script.js";

export interface LabelArgs {
  readonly owner: string;
  /** The lease with which the candidate was queued. */
  readonly leaseMs: number;
  readonly label: string;
  /** Labels expire this long after the last of these calls. */
  readonly ttlMs: number;
  readonly changes: string;
}

export type LabelAnswer =
  | { readonly status: "labelled"; readonly serverMs: number; readonly publishError: string }
  /** The owner is neither the leader nor a candidate. */
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
 * The most labels that one call checks. A call checks labels only if there are more than twice as many labels as owners, plus a
 * hundred.
 */
const mostLooked = 1_000;

/**
 * Sets the label of an owner that leads or waits. Labels of owners that are gone are deleted later, some at a time: each
 * candidate sets a label, and a call that looked at all labels would make an election of n candidates cost n² at the server.
 *
 * Keys: lock, waiters, alive, labels. Arguments: owner, lease ms, label, TTL of all labels ms, channel of changes. Answer: labelled (publish error) / gone;
 * server time in each. Redisson has no election.
 */
export const electionLabel: CallScript<LabelArgs, LabelAnswer> = {
  name: "election-label",
  keyCount: 4,
  lua: `${clock}${publish}${isQueued}
local lock, waiters, alive, labels, owner = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]
local leads = redis.call('HEXISTS', lock, owner) == 1
if not leads and not isQueued(waiters, owner .. ' ' .. ARGV[2], alive, owner) then return {'gone', nowUs} end
local count = redis.call('HLEN', labels)
if count > 2 * (redis.call('ZCARD', alive) + 1) + 100 then
  local all = redis.call('HKEYS', labels)
  for place = 1, math.min(count, ${mostLooked}) do
    local each = all[(nowUs + place) % count + 1]
    if redis.call('HEXISTS', lock, each) == 0 and not redis.call('ZSCORE', alive, each) then
      redis.call('HDEL', labels, each)
    end
  end
end
redis.call('HSET', labels, owner, ARGV[3])
if redis.call('PTTL', labels) < tonumber(ARGV[4]) then redis.call('PEXPIRE', labels, ARGV[4]) end
say('PUBLISH', ARGV[5], '1')
return {'labelled', nowUs, mute}
`,
  args: (given) => [given.owner, given.leaseMs, given.label, given.ttlMs, given.changes],
  parse: readLabel,
};
