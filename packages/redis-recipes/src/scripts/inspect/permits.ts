import { clock } from "../lua/clock.js";
import { permitGrants } from "../lua/permit-grants.js";
import { permits } from "../lua/permits.js";
import type { Conflict } from "../mutex/answers.js";
import { type CallScript, Reply } from "../script.js";

export interface PermitPicture {
  readonly id: string;
  /** Time left; 0 when the time is over and the permit was not given back yet, -1 when it never expires. */
  readonly leaseLeftMs: number;
}

export type PermitsPicture =
  | {
      readonly status: "seen";
      readonly serverMs: number;
      /** `null` where no number is set. Expired permits are not free until a client gives them back. */
      readonly free: number | null;
      /**
       * In the order in which they expire. Empty for a semaphore without leases, since the server does not know who has its
       * permits.
       */
      readonly held: readonly PermitPicture[];
      readonly heldTotal: number;
    }
  | Conflict;

function readPermits(raw: unknown): PermitsPicture {
  const reply = new Reply("permits-inspect", raw);
  const status = reply.text();
  const serverMs = reply.serverMs();
  if (status === "conflict") return reply.end({ status, serverMs, found: reply.text() });
  if (status !== "seen") throw reply.unknownStatus(status);
  const known = reply.flag();
  const free = reply.integer();
  const held = reply.list().map((each): PermitPicture => {
    const part = new Reply("permits-inspect", each);
    return part.end({ id: part.text(), leaseLeftMs: part.integer() });
  });
  return reply.end({ status, serverMs, free: known ? free : null, held, heldTotal: reply.integer() });
}

/**
 * Looks at a semaphore, with leases or without. It changes nothing: unlike Redisson's read methods, it does not give back expired
 * permits.
 *
 * Keys: permits, grants. Arguments: longest list of permits. Answer: seen (whether a number is set, free, permits with the time they have left, how many are
 * held) / conflict; server time in each.
 */
export const permitsInspect: CallScript<{ readonly maxHeld: number }, PermitsPicture> = {
  name: "permits-inspect",
  keyCount: 2,
  lua: `${clock}${permits}${permitGrants}
local k = {permits = KEYS[1], grants = KEYS[2]}
local free, found = permitState(k)
if free == nil then return {'conflict', nowUs, found} end
local held = {}
if tonumber(ARGV[1]) > 0 then
  local grants = redis.call('ZRANGE', k.grants, 0, ARGV[1] - 1, 'WITHSCORES')
  for i = 1, #grants, 2 do
    local till = tonumber(grants[i + 1])
    local id = string.gsub(grants[i], '.', function(byte) return string.format('%02x', string.byte(byte)) end)
    held[#held + 1] = {id, till >= never and -1 or math.max(0, till - nowMs)}
  end
end
return {'seen', nowUs, free and 1 or 0, free or 0, held, redis.call('ZCARD', k.grants)}
`,
  args: (given) => [given.maxHeld],
  parse: readPermits,
};
