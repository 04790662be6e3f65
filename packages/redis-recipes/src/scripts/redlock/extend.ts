import { clock } from "../lua/clock.js";
import { token } from "../lua/token.js";
import { type CallScript, Reply } from "../script.js";
import { identity, type NodeAnswer, readNode } from "./identity.js";

export interface ExtendArgs {
  readonly owner: string;
  /** 0 only looks, and extends nothing. */
  readonly leaseMs: number;
  readonly guard: boolean;
  readonly maxLeaseMs: number;
  /** The value to which the token key is raised if the owner holds; 0 for none. */
  readonly floor: bigint;
  readonly tokenTtlMs: number;
}

export type ExtendAnswer = NodeAnswer &
  (
    | { readonly status: "extended"; readonly pttlMs: number }
    | { readonly status: "quarantined" }
    | { readonly status: "gone" }
  );

/**
 * Asks one node whether its vote still stands, and extends the vote by another lease.
 *
 * Keys: lock, token, node identity. Arguments: owner, lease ms (0 only looks), guard, longest lease ms, token floor, token TTL ms. Answer: extended (PTTL) /
 * quarantined / gone; server time, run id, age, longest lease in each.
 *
 * As Redisson's watchdog, except that a longer remaining time is kept. A node in quarantine keeps the hold that it may have, but
 * does not count.
 */
export const extend: CallScript<ExtendArgs, ExtendAnswer> = {
  name: "redlock-extend",
  keyCount: 3,
  lua: `${clock}${token}${identity}
local age, longest = seen(KEYS[3], ARGV[3] == '1', tonumber(ARGV[4]))
local held = type(redis.pcall('HGET', KEYS[1], ARGV[1])) == 'string'
local leaseMs, floor = tonumber(ARGV[2]), tonumber(ARGV[5])
if held and leaseMs > 0 and redis.call('PTTL', KEYS[1]) < leaseMs then redis.call('PEXPIRE', KEYS[1], leaseMs) end
if age >= 0 and age < longest then return {'quarantined', nowUs, runId, age, longest} end
if not held then return {'gone', nowUs, runId, age, longest} end
if floor > 0 and floor > (lastToken(KEYS[2]) or floor) then raiseToken(KEYS[2], floor, tonumber(ARGV[6])) end
return {'extended', nowUs, runId, age, longest, redis.call('PTTL', KEYS[1])}
`,
  args: (given) => [
    given.owner,
    given.leaseMs,
    given.guard ? 1 : 0,
    given.maxLeaseMs,
    String(given.floor),
    given.tokenTtlMs,
  ],
  parse(raw) {
    const reply = new Reply("redlock-extend", raw);
    const status = reply.text();
    const node = readNode(reply);
    switch (status) {
      case "extended":
        return reply.end({ status, ...node, pttlMs: reply.integer() });
      case "quarantined":
      case "gone":
        return reply.end({ status, ...node });
      default:
        throw reply.unknownStatus(status);
    }
  },
};
