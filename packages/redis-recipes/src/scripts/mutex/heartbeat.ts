import { clock } from "../lua/clock.js";
import { evenWhenFull } from "../lua/even-when-full.js";
import { lookAtMutex, putMutex } from "../lua/mutex-state.js";
import { messages } from "../lua/publish.js";
import { stand } from "../lua/stand.js";
import { lastToken, raiseToken } from "../lua/token.js";
import { type BatchScript, eachReader, notAfterUs } from "../script.js";
import { type StandAnswer, standReader } from "./answers.js";

export interface HeartbeatArgs {
  readonly aliveMs: number;
  /** Lease of a grant that this call makes. The first renewal of its holder sets the full lease. */
  readonly claimMs: number;
  readonly notAfterMs: number | null;
  readonly tokenTtlMs: number;
  readonly changes: string;
}

export interface HeartbeatEntry {
  readonly owner: string;
  readonly leaseMs: number;
  readonly floor: bigint;
}

/** `last`: the argument behind those that all kinds of lock have. */
export function heartbeatArgs(
  common: Omit<HeartbeatArgs, "changes">,
  last: string | number,
  entries: readonly HeartbeatEntry[],
): (string | number)[] {
  return [
    common.aliveMs,
    common.claimMs,
    notAfterUs(common.notAfterMs),
    common.tokenTtlMs,
    last,
    ...entries.flatMap((each) => [each.owner, each.leaseMs, String(each.floor)]),
  ];
}

/** The part that mutex and write lock share; see `acquireLua`. */
export function heartbeatLua(look: string, put: string): string {
  return `${evenWhenFull}${clock}${look}${messages}${lastToken}${raiseToken}${stand(put)}
local late = tonumber(ARGV[3]) > 0 and nowUs > tonumber(ARGV[3])
local answers = {}
for i = 0, #KEYS / 5 - 1 do
  if late then
    answers[i + 1] = {'late', nowUs}
  else
    local k = {lock = KEYS[5 * i + 1], token = KEYS[5 * i + 2], waiters = KEYS[5 * i + 3],
      alive = KEYS[5 * i + 4], run = KEYS[5 * i + 5]}
    local leaseMs = tonumber(ARGV[3 * i + 7])
    answers[i + 1] = stand(k, {owner = ARGV[3 * i + 6], leaseMs = leaseMs, mayWait = true,
      grantMs = math.min(tonumber(ARGV[2]), leaseMs), aliveMs = tonumber(ARGV[1]), tokenTtlMs = tonumber(ARGV[4]),
      floor = tonumber(ARGV[3 * i + 8]), changes = ARGV[5]})
  end
end
return answers
`;
}

export function standsReader(script: string): (raw: unknown) => readonly StandAnswer[] {
  return eachReader(script, standReader(script));
}

/**
 * Reports that waiting owners of one client are still there, and asks for each one whether it holds by now.
 *
 * Keys of each entry: lock, token, waiters, alive, run. Arguments: alive window ms, claim lease ms, not after (us, 0 for none),
 * token TTL ms, channel of changes; then for each entry owner, wanted lease ms, token floor. Answer for each entry: as that of
 * `mutex-acquire`, but never `busy`. A grant made by this call has at most the claim lease.
 *
 * Redisson has no such request: its waiters try again when their TTL is over.
 */
export const mutexHeartbeat: BatchScript<HeartbeatArgs, HeartbeatEntry, StandAnswer> = {
  name: "mutex-heartbeat",
  keyCount: 5,
  lua: heartbeatLua(lookAtMutex, putMutex),
  args: (common, entries) => heartbeatArgs(common, common.changes, entries),
  parse: standsReader("mutex-heartbeat"),
};
