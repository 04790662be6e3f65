import { createHash } from "node:crypto";
import type { Millis, UnsupportedError } from "@holdfast/core";
import type { Command as IoredisCommand } from "ioredis";
import type { Script, ScriptArgs } from "../scripts/script.js";
import type { Command, Outcome } from "./commands.js";
import { ReplyError, type TooFewReplicasError } from "./errors.js";
import { evalshaCommand } from "./wire-command.js";

/** One run of a script, before it is decided whether it is sent as EVAL or EVALSHA. */
export interface ScriptRun {
  readonly script: Script<unknown>;
  readonly keys: readonly string[];
  readonly args: ScriptArgs;
  /** The slot is being moved to this node, so ASKING goes in front of the command. */
  readonly asking: boolean;
}

/** Why a run that waits for replicas is not sent. */
export type PolicyRefusal = TooFewReplicasError | UnsupportedError;

/** The result of one run. */
export interface RunResult {
  readonly outcome: Outcome | { readonly error: PolicyRefusal };
  readonly sentMs: Millis;
  readonly answeredMs: Millis;
  readonly runId: string;
  /** See `Answer`. */
  readonly askedBy?: string;
  readonly acknowledged: number | null;
}

/** The part of a connection that knows which scripts its server has. */
interface ScriptStore {
  /** Scripts that the server is known to have, by digest. */
  readonly scripts: Set<string>;
  readonly vouchedRunId: string;
}

const digests = new WeakMap<Script<unknown>, string>();
/** The name of each script, by its digest and by its text, as commands carry them. It has two entries for each script. */
const names = new Map<string, string>();

/** `undefined` for a body that is not one of our scripts. */
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
 * The command carries the script's text until the server is known to have the script, and its digest from then on. EVAL also
 * loads the script, so a first run costs no additional round trip.
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

/** The same command as bytes, for a client of ours; `null` where the text of the script has to be sent. */
export function wireCommand(
  connection: ScriptStore,
  { script, keys, args }: ScriptRun,
): IoredisCommand | null {
  const digest = digestOf(script);
  if (!connection.scripts.has(digest)) return null;
  return evalshaCommand(script, digest, keys, args, connection.vouchedRunId);
}

/**
 * Whether the server has forgotten the script (SCRIPT FLUSH), so that the run must be sent again. Also updates which scripts the
 * server is known to have.
 */
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
