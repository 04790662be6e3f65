import { clock } from "../lua/clock.js";
import { mutexState } from "../lua/mutex-state.js";
import { keepers, messages } from "../lua/publish.js";
import { token } from "../lua/token.js";
import { type CallScript, Reply } from "../script.js";
import { identity, type NodeAnswer, readNode } from "./identity.js";

export interface VoteArgs {
  readonly owner: string;
  readonly leaseMs: number;
  /** Server time after which this request does nothing; `null` for no limit. */
  readonly notAfterMs: number | null;
  /** 0 keeps the token key for ever. */
  readonly tokenTtlMs: number;
  readonly guard: boolean;
  readonly maxLeaseMs: number;
}

export type VoteAnswer = NodeAnswer &
  (
    | { readonly status: "granted"; readonly token: bigint; readonly pttlMs: number }
    | { readonly status: "busy"; readonly pttlMs: number; readonly holder: string }
    /** The node may have forgotten votes that still count. */
    | { readonly status: "quarantined" }
    | { readonly status: "late" }
    | { readonly status: "conflict"; readonly found: string }
  );

/**
 * One node's vote for one owner: grants the lock on this node, unless another owner has it, or the node may have forgotten who
 * has it.
 *
 * Keys: lock, token, node identity. Arguments: owner, lease ms, not after (us, 0 for none), token TTL ms, guard, longest lease ms. Answer: granted (token, PTTL) /
 * busy (PTTL, holder) / quarantined / late / conflict (what was found); server time, run id, age, longest lease in each.
 *
 * As Redisson's plain lock, which its multi-lock takes on each node: one field with the count 1, refused with the PTTL. A provider
 * that may keep the lock on this node for its next owner gets a message that it is wanted. May be sent twice.
 */
export const vote: CallScript<VoteArgs, VoteAnswer> = {
  name: "redlock-vote",
  keyCount: 3,
  lua: `${clock}${token}${mutexState}${identity}
local age, longest = seen(KEYS[3], ARGV[5] == '1', tonumber(ARGV[6]))
if tonumber(ARGV[3]) > 0 and nowUs > tonumber(ARGV[3]) then return {'late', nowUs, runId, age, longest} end
local state, holder = look(KEYS[1])
if state == 'conflict' then return {'conflict', nowUs, runId, age, longest, holder} end
local last = lastToken(KEYS[2])
if not last then return {'conflict', nowUs, runId, age, longest, 'token'} end
if age >= 0 and age < longest then return {'quarantined', nowUs, runId, age, longest} end
if state == 'held' then
  local pttl = redis.call('PTTL', KEYS[1])
  if holder == ARGV[1] then
    return {'granted', nowUs, runId, age, longest, string.format('%.0f', last), pttl}
  end
  ${messages}${keepers}
  tellKeeper(KEYS[1], holder)
  return {'busy', nowUs, runId, age, longest, pttl, holder}
end
put(KEYS[1], ARGV[1], ARGV[2])
local text = nextToken(KEYS[2], last, tonumber(ARGV[4]))
return {'granted', nowUs, runId, age, longest, text, redis.call('PTTL', KEYS[1])}
`,
  args: (given) => [
    given.owner,
    given.leaseMs,
    given.notAfterMs === null ? 0 : Math.floor(given.notAfterMs * 1000),
    given.tokenTtlMs,
    given.guard ? 1 : 0,
    given.maxLeaseMs,
  ],
  parse(raw) {
    const reply = new Reply("redlock-vote", raw);
    const status = reply.text();
    const node = readNode(reply);
    switch (status) {
      case "granted":
        return reply.end({ status, ...node, token: reply.token(), pttlMs: reply.integer() });
      case "busy":
        return reply.end({ status, ...node, pttlMs: reply.integer(), holder: reply.text() });
      case "conflict":
        return reply.end({ status, ...node, found: reply.text() });
      case "quarantined":
      case "late":
        return reply.end({ status, ...node });
      default:
        throw reply.unknownStatus(status);
    }
  },
};
