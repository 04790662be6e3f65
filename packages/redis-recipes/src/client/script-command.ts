import { createHash } from "node:crypto";
import type { Millis, UnsupportedError } from "@holdfast/core";
import type { Command as IoredisCommand } from "ioredis";
import type { Script, ScriptArgs } from "../scripts/script.js";
import type { Command, Outcome } from "./commands.js";
import { ReplyError, type TooFewReplicasError } from "./errors.js";
import { evalshaCommand } from "./wire-command.js";

/** One run of one script, before it is known which form it is sent in. */
export interface ScriptRun {
  readonly script: Script<unknown>;
  readonly keys: readonly string[];
  readonly args: ScriptArgs;
  /** The slot is on its way to this node. */
  readonly asking: boolean;
}

/** Why a run that waits for replicas is not even sent. */
export type PolicyRefusal = TooFewReplicasError | UnsupportedError;

/** A run, and what became of it. */
export interface RunResult {
  readonly outcome: Outcome | { readonly error: PolicyRefusal };
  readonly sentMs: Millis;
  readonly answeredMs: Millis;
  readonly runId: string;
  /** See `Answer`. */
  readonly askedBy?: string;
  readonly acknowledged: number | null;
}

/** A connection, as far as its server's scripts go. */
interface ScriptStore {
  /** Scripts that the server is known to have, by digest. */
  readonly scripts: Set<string>;
  readonly vouchedRunId: string;
}

const digests = new WeakMap<Script<unknown>, string>();
/** The names of scripts by digest and by text, as commands carry them. They are as many as there are scripts. */
const names = new Map<string, string>();

/** `undefined` for a body that is no script of ours. */
export function scriptNameOf(body: string): string | undefined {
  return names.get(body);
}

function digestOf(script: Script<unknown>): string {
  let digest = digests.get(script);
  if (digest === undefined) {
    digest = createHash("sha1").update(script.lua).digest("hex");
    digests.set(script, digest);
    names.set(digest, script.name);
    names.set(script.lua, script.name);
  }
  return digest;
}

/**
 * The command has the script's text the first time that this connection runs it, which loads it, and its digest from then on. So a first run
 * costs no round trip more.
 */
export function scriptCommand(connection: ScriptStore, { script, keys, args }: ScriptRun): Command {
  const digest = digestOf(script);
  const known = connection.scripts.has(digest);
  const command: [string, ...(string | number)[]] = [
    known ? "evalsha" : "eval",
    known ? digest : script.lua,
    keys.length,
    ...keys,
    ...args.flat(),
  ];
  if (script.runIdAt !== undefined) command[3 + keys.length + script.runIdAt] = connection.vouchedRunId;
  return command;
}

/** The same as bytes, for a client of ours; `null` where the text of the script has to go along. */
export function wireCommand(
  connection: ScriptStore,
  { script, keys, args }: ScriptRun,
): IoredisCommand | null {
  const digest = digestOf(script);
  if (!connection.scripts.has(digest)) return null;
  return evalshaCommand(script, digest, keys, args, connection.vouchedRunId);
}

/** Whether the server has forgotten the script (SCRIPT FLUSH) and the run must be sent again. Keeps account of what it has. */
export function forgotten(
  connection: ScriptStore,
  { script }: ScriptRun,
  outcome: RunResult["outcome"],
): boolean {
  const digest = digestOf(script);
  if ("reply" in outcome) {
    connection.scripts.add(digest);
    return false;
  }
  const noScript = outcome.error instanceof ReplyError && outcome.error.kind === "no-script";
  if (noScript) connection.scripts.delete(digest);
  return noScript;
}
