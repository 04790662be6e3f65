import { branded } from "@holdfast/core/internal";
import { suffixed } from "../layout/names.js";
import type { Command, Outcome } from "./commands.js";
import { isDeniedInScript, type LinkErrorDetails, ReplyError } from "./errors.js";

/**
 * One complete call, which changes nothing, for each command that the scripts use. An ACL user needs the rights to all of them,
 * whichever kinds of lock it uses.
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

/** The last two are asked by ioredis: without their answers no connection to a node lasts. */
const clusterCalls = ["asking", "cluster slots", "cluster info"];

/** Without these calls locks work, but slowly: no message says that a lock was freed. */
const tellingCalls = ["publish holdfast_grant:0 0", "subscribe holdfast_grant:0", "pubsub numsub 0"];
const shardedCalls = ["spublish holdfast_grant:0 0", "ssubscribe holdfast_grant:0", "pubsub shardnumsub 0"];

/**
 * The ACL user lacks a right that locks need. A missing command is noticed when connecting, because a script that may not do its
 * last step would leave its work half done. Not retried.
 */
export class MissingRightError extends ReplyError {
  override readonly name = "MissingRightError";
  /**
   * The rights as `ACL SETUSER` takes them, such as `+pexpire` or `~{orders}:*`. Where there are several keys, any of them may be
   * the one that was denied.
   */
  readonly rights: readonly string[];

  constructor(rights: readonly string[], reply: string, details: LinkErrorDetails) {
    super(reply, details, `the ACL user of this connection needs ${rights.join(" ")}: ${reply}`);
    this.rights = rights;
  }
}
branded(MissingRightError, "MissingRightError");

/** The error for a refusal; `command`: the command that was refused. */
export function refusalOf(reply: string, details: LinkErrorDetails, command: Command | null): ReplyError {
  const rights = missingIn(reply, command);
  return rights === null ? new ReplyError(reply, details) : new MissingRightError(rights, reply, details);
}

/**
 * The rights that a denial names; `null` when the reply is not a denial. Each denial has two texts: one of Redis up to 7.1, and
 * one of Redis from 7.2 on, which Valkey uses too.
 */
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
  // The key of a read hold differs each time.
  return keys.map((each) => `~${each.includes(":rwlock_timeout:") ? suffixed(key, "*") : each}`);
}

function keysOf(command: Command | null): readonly string[] {
  if (command === null || !/^eval(sha)?$/.test(command[0])) return [];
  return command.slice(3, 3 + Number(command[2])).map(String);
}

/** Asks whether this ACL user may do what locks need. Asked on each new connection, because rights are read anew there. */
export function rightsProbe({ acks, cluster }: { acks: boolean; cluster: boolean }): Command {
  const needed = ["evalsha 0 0", "ping", ...(acks ? ["wait 0 0"] : []), ...(cluster ? clusterCalls : [])];
  const telling = [...tellingCalls, ...(cluster ? shardedCalls : [])];
  return ["eval", probe, 0, scriptCalls.length, ...scriptCalls, needed.length, ...needed, ...telling];
}

/**
 * The probe changes nothing, and the server knows it, since it is a script without writes. Inside such a script the server checks
 * the ACL rules of a command first, and only then refuses a write. Commands that take keys are really called: no key is known
 * that this user may access, and the text of the reply tells a denied command from a denied key. For the other commands the
 * script asks the server, always with complete arguments, because Redis 7.0 crashes when it looks for keys behind the last
 * argument.
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
  /** Rights without which nothing works. */
  readonly needed: readonly string[];
  /** Rights without which waiters have to poll. */
  readonly telling: readonly string[];
}

const none: MissingRights = { needed: [], telling: [] };

/** What is missing according to the answer to the probe. */
export function missingRights(outcome: Outcome | undefined): MissingRights {
  if (outcome === undefined || !("reply" in outcome) || !Array.isArray(outcome.reply)) return none;
  const [needed, telling] = outcome.reply as unknown[];
  return { needed: rightsOf(needed), telling: rightsOf(telling) };
}

function rightsOf(commands: unknown): readonly string[] {
  return Array.isArray(commands) ? commands.map((each) => `+${String(each)}`) : [];
}
