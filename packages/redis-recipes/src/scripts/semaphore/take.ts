import { clock } from "../lua/clock.js";
import { permits } from "../lua/permits.js";
import { publish } from "../lua/publish.js";
import { token } from "../lua/token.js";
import { type Conflict, conflictPart, type Late } from "../mutex/answers.js";
import { answerReader, type CallScript, notAfterUs, nothingMore } from "../script.js";

export interface TakeArgs {
  /** Names the take in the key of its marker; new for each take. */
  readonly owner: string;
  readonly permits: number;
  /** The number of permits to set where none is set yet; `null` leaves it unset. */
  readonly initial: number | null;
  readonly notAfterMs: number | null;
  readonly tokenTtlMs: number;
  readonly floor: bigint;
  /** How long the marker remembers the take. */
  readonly markerMs: number;
}

export type TakeAnswer =
  | { readonly status: "granted"; readonly serverMs: number; readonly token: bigint; readonly free: number }
  /** `free` is `null` where no number is set. */
  | { readonly status: "busy"; readonly serverMs: number; readonly free: number | null }
  | Late
  | Conflict;

const readTake = answerReader<TakeAnswer>("semaphore-take", {
  granted: (reply) => ({ token: reply.token(), free: reply.integer() }),
  busy: (reply) => {
    const free = reply.integer();
    return { free: reply.flag() ? free : null };
  },
  late: nothingMore,
  conflict: conflictPart,
});

/**
 * Takes permits of a semaphore without leases, all or none.
 *
 * Keys: permits, token, marker of this take. Arguments: how many, how many to set where none are (empty for no), not after (us, 0 for none), token
 * TTL ms, token floor, life of the marker ms. Answer: granted (token, free) / busy (free, whether a number is set) / late / conflict; server time in
 * each.
 *
 * As Redisson's: the number is counted down and nothing else is kept. So the server does not know who took permits, and permits
 * of a process that dies are lost. The marker is ours: while it lives, the request is safe to send again, and permits are given
 * back exactly even if an answer was lost.
 */
export const semaphoreTake: CallScript<TakeArgs, TakeAnswer> = {
  name: "semaphore-take",
  keyCount: 3,
  lua: `${clock}${publish}${token}${permits}
local marker = redis.call('GET', KEYS[3])
if marker == 'ended' or (tonumber(ARGV[3]) > 0 and nowUs > tonumber(ARGV[3])) then return {'late', nowUs} end
local free, found = permitsAt(KEYS[1])
if free == nil then return {'conflict', nowUs, found} end
local last = lastToken(KEYS[2])
if not last then return {'conflict', nowUs, 'token'} end
if marker then return {'granted', nowUs, string.format('%.0f', last), free or 0} end
local wanted = tonumber(ARGV[1])
local set = free or (ARGV[2] ~= '' and tonumber(ARGV[2]))
if not set or set < wanted then
  if not free and set then redis.call('SET', KEYS[1], string.format('%.0f', set)) end
  return {'busy', nowUs, set or 0, set and 1 or 0}
end
if not free then redis.call('SET', KEYS[1], string.format('%.0f', set)) end
redis.call('SET', KEYS[3], 'taken', 'PX', ARGV[6])
redis.call('DECRBY', KEYS[1], wanted)
return {'granted', nowUs, nextToken(KEYS[2], math.max(last, tonumber(ARGV[5])), tonumber(ARGV[4])), set - wanted}
`,
  args: (given) => [
    given.permits,
    given.initial ?? "",
    notAfterUs(given.notAfterMs),
    given.tokenTtlMs,
    String(given.floor),
    given.markerMs,
  ],
  parse: readTake,
};
