import type { RedissonPublish } from "../../layout/channels.js";
import { clock } from "../lua/clock.js";
import { nudge, publish } from "../lua/publish.js";
import { readWriteState } from "../lua/read-write-state.js";
import { firstWaiter } from "../lua/waiters.js";
import type { Conflict } from "../mutex/answers.js";
import { type CallScript, Reply } from "../script.js";

export interface ReadWriteForceArgs {
  /** In the other mode nothing is done. */
  readonly mode: "read" | "write";
  /** The owner that must be the writer, or one of the readers; `""` for any. */
  readonly expected: string;
  readonly publish: RedissonPublish;
  readonly channel: string;
}

export type ReadWriteForceAnswer =
  | {
      readonly status: "forced";
      readonly serverMs: number;
      readonly holders: readonly string[];
      /** To how many holders a message is sent, which are only ours. */
      readonly told: number;
      readonly publishError: string;
    }
  | { readonly status: "free" | "other"; readonly serverMs: number }
  | Conflict;

function readForced(raw: unknown): ReadWriteForceAnswer {
  const reply = new Reply("read-write-force", raw);
  const status = reply.text();
  const serverMs = reply.serverMs();
  switch (status) {
    case "forced":
      return reply.end({
        status,
        serverMs,
        holders: reply.texts(),
        told: reply.integer(),
        publishError: reply.text(),
      });
    case "free":
    case "other":
      return reply.end({ status, serverMs });
    case "conflict":
      return reply.end({ status, serverMs, found: reply.text() });
    default:
      throw reply.unknownStatus(status);
  }
}

/**
 * Frees a read-write lock by an operator's order, although its writer or its readers hold it.
 *
 * Keys: lock, token, waiters, alive, run. Arguments: mode, a holder that must be there (empty for any), how to publish,
 * Redisson's channel. Answer: forced (holders, to how many a message is sent, publish error) / free / other (another mode or
 * holder) / conflict; server time in each.
 *
 * As Redisson's: the hash is deleted, `0` for readers and `1` for a writer is published, and the keys of read holds are left to
 * expire. Our holders get the message `stolen`, our first writer a nudge.
 */
export const readWriteForce: CallScript<ReadWriteForceArgs, ReadWriteForceAnswer> = {
  name: "read-write-force",
  keyCount: 5,
  lua: `${clock}${publish}${nudge}${firstWaiter}${readWriteState}
local k = {lock = KEYS[1], token = KEYS[2], waiters = KEYS[3], alive = KEYS[4], run = KEYS[5]}
local state, holder, mode = look(k.lock)
if state == 'conflict' then return {'conflict', nowUs, holder} end
if state == 'free' then return {'free', nowUs} end
local field = ARGV[1] == 'write' and ARGV[2] .. ':write' or ARGV[2]
if mode ~= ARGV[1] or (ARGV[2] ~= '' and redis.call('HEXISTS', k.lock, field) == 0) then return {'other', nowUs} end
local head = liveHead(k)
local holders, told = {}, 0
for _, each in ipairs(redis.call('HKEYS', k.lock)) do
  local owner = string.match(each, '^(.*):write$') or each
  if each ~= 'mode' and (mode == 'read' or owner ~= each) then holders[#holders + 1] = owner end
end
table.sort(holders)
redis.call('DEL', k.lock)
redis.call('DEL', k.run)
for _, owner in ipairs(holders) do
  if channelOf(owner) then told = told + 1 end
  tellOwner(owner, {type = 'stolen', key = k.lock, owner = owner})
end
tellRedisson(ARGV[3], ARGV[4], mode == 'write' and '1' or '0')
nudge(k, head)
return {'forced', nowUs, holders, told, mute}
`,
  args: (given) => [given.mode, given.expected, given.publish, given.channel],
  parse: readForced,
};
