import { branded } from "@holdfast/core/internal";
import { suffixed } from "../layout/names.js";
import type { Command, Outcome } from "./commands.js";
import { isDeniedInScript, type LinkErrorDetails, ReplyError } from "./errors.js";

/**
 * What the scripts call, with arguments that are complete, as a call that changes nothing. An ACL user needs all of them, whatever it
 * locks with.
 */
const scriptCalls = [
  ...[
    "decrby holdfast_probe 1",
    "del holdfast_probe",
    "exists holdfast_probe",
    "get holdfast_probe",
    "incrby holdfast_probe 1",
    "pexpire holdfast_probe 1",
    "pttl holdfast_probe",
    "set holdfast_probe v",
    "time",
    "type holdfast_probe",
  ],
  ...[
    "hdel holdfast_probe f",
    "hexists holdfast_probe f",
    "hget holdfast_probe f",
    "hgetall holdfast_probe",
    "hkeys holdfast_probe",
    "hlen holdfast_probe",
    "hmget holdfast_probe f",
    "hset holdfast_probe f v",
  ],
  ...[
    "lindex holdfast_probe 0",
    "llen holdfast_probe",
    "lpop holdfast_probe",
    "lpos holdfast_probe v",
    "lrange holdfast_probe 0 0",
    "lrem holdfast_probe 0 v",
    "rpush holdfast_probe v",
  ],
  ...[
    "zadd holdfast_probe 1 m",
    "zcard holdfast_probe",
    "zrange holdfast_probe 0 0",
    "zrangebyscore holdfast_probe 0 0",
    "zrem holdfast_probe m",
  ],
  ...["zremrangebyscore holdfast_probe 0 0", "zscore holdfast_probe m"],
];
export const scriptCommands: readonly string[] = scriptCalls.map((call) => call.split(" ", 1)[0] as string);

/** ioredis asks for the last two; without the answers no connection to a node lasts. */
const clusterCalls = ["asking", "cluster slots", "cluster info"];

/** Without these calls locks work and are slow: no message says that one gets free. */
const tellingCalls = ["publish holdfast_grant:0 0", "subscribe holdfast_grant:0", "pubsub numsub 0"];
const shardedCalls = ["spublish holdfast_grant:0 0", "ssubscribe holdfast_grant:0", "pubsub shardnumsub 0"];

/**
 * An ACL user may not do what locks need. Refused when connecting, where a command is missing: a script that may not do its last
 * step would leave half of it done. Not tried again.
 */
export class MissingRightError extends ReplyError {
  override readonly name = "MissingRightError";
  /** The rights as `ACL SETUSER` takes them, such as `+pexpire` or `~{orders}:*`; of several keys any may be the one that was meant. */
  readonly rights: readonly string[];

  constructor(rights: readonly string[], reply: string, details: LinkErrorDetails) {
    super(reply, details, `the ACL user of this connection needs ${rights.join(" ")}: ${reply}`);
    this.rights = rights;
  }
}
branded(MissingRightError, "MissingRightError");

/** The error for a refusal; `command`: what was refused. */
export function refusalOf(reply: string, details: LinkErrorDetails, command: Command | null): ReplyError {
  const rights = missingIn(reply, command);
  return rights === null ? new ReplyError(reply, details) : new MissingRightError(rights, reply, details);
}

/** Redis has said each of these in two ways: one up to 7.1, and another, which Valkey has taken over, from 7.2 on. */
function missingIn(reply: string, command: Command | null): readonly string[] | null {
  const keys = keysOf(command);
  const [key = ""] = keys;
  const inScript = isDeniedInScript(reply);
  if (!inScript && !reply.startsWith("NOPERM ")) return null;
  const [, name] = /run the '([^']+)' command/.exec(reply) ?? [];
  if (name !== undefined) return [`+${name}`];
  if (reply.includes("can't run this command")) return ["+@read", "+@write"];
  if (/\bchannels?\b/.test(reply)) return ["&holdfast_*", "&redisson_*"];
  // The only keys that a script derives itself are those of read holds.
  if (inScript) return [`~${suffixed(key, "*")}`];
  if (keys.length === 0) return null;
  // The key of a read hold is another one each time.
  return keys.map((each) => `~${each.includes(":rwlock_timeout:") ? suffixed(key, "*") : each}`);
}

function keysOf(command: Command | null): readonly string[] {
  if (command === null || !/^eval(sha)?$/.test(command[0])) return [];
  return command.slice(3, 3 + Number(command[2])).map(String);
}

/** Asks whether this user may do what locks need; on each new connection, since rights are read anew there. */
export function rightsProbe({ acks, cluster }: { acks: boolean; cluster: boolean }): Command {
  const needed = ["evalsha 0 0", "ping", ...(acks ? ["wait 0 0"] : []), ...(cluster ? clusterCalls : [])];
  const telling = [...tellingCalls, ...(cluster ? shardedCalls : [])];
  return ["eval", probe, 0, scriptCalls.length, ...scriptCalls, needed.length, ...needed, ...telling];
}

/**
 * Changes nothing, as the server knows: it is a script without writes, in which ACL rules are asked before that one. Commands that
 * take keys are called, since no key is known that this user may access and the two denials differ in their text. Of the others
 * the server is asked, always with arguments that are complete: Redis 7.0 crashes when it looks for keys behind the last one.
 */
const probe = `#!lua flags=no-writes
local missing = {{}, {}}
local calls = tonumber(ARGV[1])
local asks = tonumber(ARGV[calls + 2])
local function words(text)
  local found = {}
  for word in string.gmatch(text, '%S+') do found[#found + 1] = word end
  return found
end
for index = 2, calls + 1 do
  local call = words(ARGV[index])
  local reply = redis.pcall(unpack(call))
  local said = type(reply) == 'table' and reply.err or ''
  local denied = string.find(said, "can't run this command", 1, true) or string.find(said, 'no permissions to run', 1, true)
  if denied or string.find(said, 'Unknown Redis command', 1, true) then
    table.insert(missing[1], call[1])
  end
end
if not redis.acl_check_cmd then return missing end
for index = calls + 3, #ARGV do
  local call = words(ARGV[index])
  local known, may = pcall(redis.acl_check_cmd, unpack(call))
  if known and not may then
    local list = index <= calls + 2 + asks and missing[1] or missing[2]
    list[#list + 1] = string.find('pubsub cluster', call[1], 1, true) and call[1] .. '|' .. call[2] or call[1]
  end
end
return missing
`;

export interface MissingRights {
  /** Nothing works without. */
  readonly needed: readonly string[];
  /** Waiters poll without. */
  readonly telling: readonly string[];
}

const none: MissingRights = { needed: [], telling: [] };

/** What the answer to the probe says is missing. */
export function missingRights(outcome: Outcome | undefined): MissingRights {
  if (outcome === undefined || !("reply" in outcome) || !Array.isArray(outcome.reply)) return none;
  const [needed, telling] = outcome.reply as unknown[];
  return { needed: rightsOf(needed), telling: rightsOf(telling) };
}

function rightsOf(commands: unknown): readonly string[] {
  return Array.isArray(commands) ? commands.map((each) => `+${String(each)}`) : [];
}
