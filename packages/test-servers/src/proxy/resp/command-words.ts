import { createHash } from "node:crypto";
import { decodeValue } from "./resp-value.js";

/** The parts of a command that a rule or a count needs. */
export interface CommandWords {
  /** In capitals, with its second word where Redis has families: `EVALSHA`, `SCRIPT LOAD`, `CLIENT KILL`. */
  name: string;
  /** The first key; for publishing and subscribing, the first channel. Absent if there is none. */
  key?: string;
  /** The digest of the script for EVAL, EVALSHA and similar commands, whichever way the script was sent. */
  script?: string;
  /** All words, the name included. */
  words: readonly string[];
}

const families: ReadonlySet<string> = new Set([
  "ACL",
  "CLIENT",
  "CLUSTER",
  "COMMAND",
  "CONFIG",
  "DEBUG",
  "FUNCTION",
  "LATENCY",
  "MEMORY",
  "MODULE",
  "OBJECT",
  "PUBSUB",
  "SCRIPT",
  "SENTINEL",
  "SLOWLOG",
  "XGROUP",
  "XINFO",
]);

const keyless: ReadonlySet<string> = new Set([
  "ASKING",
  "AUTH",
  "BGREWRITEAOF",
  "BGSAVE",
  "DBSIZE",
  "DISCARD",
  "ECHO",
  "EXEC",
  "FAILOVER",
  "FLUSHALL",
  "FLUSHDB",
  "HELLO",
  "INFO",
  "LASTSAVE",
  "MONITOR",
  "MULTI",
  "PING",
  "PSYNC",
  "QUIT",
  "RANDOMKEY",
  "READONLY",
  "READWRITE",
  "REPLCONF",
  "REPLICAOF",
  "RESET",
  "ROLE",
  "SAVE",
  "SCAN",
  "SELECT",
  "SHUTDOWN",
  "SLAVEOF",
  "SWAPDB",
  "SYNC",
  "TIME",
  "UNWATCH",
  "WAIT",
  "WAITAOF",
]);

/** Commands that run scripts or functions. Their words: name, script, number of keys, keys. */
const scripted: ReadonlySet<string> = new Set([
  "EVAL",
  "EVALSHA",
  "EVAL_RO",
  "EVALSHA_RO",
  "FCALL",
  "FCALL_RO",
]);

/**
 * Reads a command as `RespSplitter` gives it, also an inline one. Undefined for an empty command, which has no answer.
 */
export function readCommand(bytes: Buffer): CommandWords | undefined {
  const words = wordsOf(bytes);
  const first = words[0]?.toUpperCase();
  if (first === undefined) return undefined;
  const family = families.has(first) && words[1] !== undefined;
  const name = family ? `${first} ${words[1]?.toUpperCase()}` : first;
  const command: CommandWords = { name, words };
  const key = keyOf(first, family, words);
  if (key !== undefined) command.key = key;
  if (first.startsWith("EVAL") && words[1] !== undefined) {
    command.script = first.startsWith("EVALSHA")
      ? words[1].toLowerCase()
      : createHash("sha1").update(words[1]).digest("hex");
  }
  return command;
}

function wordsOf(bytes: Buffer): string[] {
  if (bytes[0] === "*".charCodeAt(0)) {
    const value = decodeValue(bytes);
    return Array.isArray(value) ? value.map(String) : [];
  }
  return bytes
    .toString("utf8")
    .trim()
    .split(/\s+/)
    .filter((word) => word !== "");
}

function keyOf(first: string, family: boolean, words: readonly string[]): string | undefined {
  if (keyless.has(first)) return undefined;
  if (scripted.has(first)) return Number(words[2]) > 0 ? words[3] : undefined;
  if (family) return ["OBJECT", "XGROUP", "XINFO", "MEMORY"].includes(first) ? words[2] : undefined;
  if (first === "XREAD" || first === "XREADGROUP") {
    const streams = words.findIndex((word) => word.toUpperCase() === "STREAMS");
    return streams === -1 ? undefined : words[streams + 1];
  }
  return words[1];
}
