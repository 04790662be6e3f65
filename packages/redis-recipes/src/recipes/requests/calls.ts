import type { CallScript, Script, ScriptArgs } from "../../scripts/script.js";
import type { BatchKind } from "./batches.js";

/** A script with its keys and arguments, ready to be called. */
export interface BoundCall<R> {
  readonly script: Script<R>;
  readonly keys: readonly string[];
  readonly args: ScriptArgs;
}

export function boundCall<G, R>(script: CallScript<G, R>, keys: readonly string[], given: G): BoundCall<R> {
  return { script, keys, args: script.args(given) };
}

/** A call that is made together with others of its kind. */
export interface BatchedCall<R> {
  readonly kind: BatchKind<never, R>;
  readonly keys: readonly string[];
  readonly entry: unknown;
}

export type Call<R> = BoundCall<R> | BatchedCall<R>;
