import type { Millis, Runtime } from "@holdfast/core";
import {
  type BoundCall,
  type FleetContext,
  NotSentError,
  OutcomeUnknownError,
  type RedissonPublish,
  ReplyError,
} from "@holdfast/redis-recipes/internal";
import type { Outcome } from "../kit/action.js";
import type { ActionRequest } from "../observe/collector.js";
import type { ObservedLock } from "../observe/observed-lock.js";
import { type Link, linkLimitMs } from "./link.js";
import type { LockRecord } from "./lock-record.js";
import type { Places } from "./places.js";

/** The pause between two looks for the master's link. */
const againMs: Millis = 200;

/** One act upon one lock. */
export interface Acting {
  readonly runner: ActionRunner;
  readonly request: ActionRequest;
  readonly record: LockRecord;
  /** The row of `record` before the act. */
  readonly lock: ObservedLock;
  /** Turns an owner, as the backend has it, into a name for people. */
  readonly whoIs: (owner: string) => string;
}

/** Runs the scripts of actions at the masters. Its calls reject when the backend cannot be asked, or refuses. */
export class ActionRunner implements FleetContext {
  readonly places: Places;
  readonly settings: FleetContext["settings"];
  readonly #runtime: Runtime;

  constructor(places: Places, runtime: Runtime, settings: FleetContext["settings"]) {
    this.places = places;
    this.#runtime = runtime;
    this.settings = settings;
  }

  /**
   * In a cluster, clients may listen on plain or on sharded channels, so both are used. A channel on which no client listens
   * costs a command.
   */
  get publish(): RedissonPublish {
    return this.places.clustered ? "both" : "publish";
  }

  /** Reads at the master that serves the key; a reading whose answer was lost is repeated. */
  read<T>(key: string, work: (link: Link) => Promise<T>): Promise<T> {
    return this.#atMaster(key, work, (error) => error instanceof OutcomeUnknownError || wasNotDone(error));
  }

  /**
   * Runs a script with a condition in front, which takes the last two arguments: whether to act, and what the operator saw.
   */
  act(
    { key, dryRun, expectedVersion }: ActionRequest,
    { lua, keys, args }: Pick<BoundCall<unknown>, "keys" | "args"> & { readonly lua: string },
  ): Promise<readonly unknown[]> {
    return this.eval(key, lua, keys, [...args.flat(), dryRun ? "dry" : "act", expectedVersion]);
  }

  /** Runs a script. It is repeated when it is known that nothing was done, and never when the outcome is unknown. */
  async eval(
    key: string,
    lua: string,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<readonly unknown[]> {
    const ask = (link: Link): Promise<unknown> => link.ask("eval", lua, keys.length, ...keys, ...args);
    const reply = await this.#atMaster(key, ask, wasNotDone);
    if (Array.isArray(reply)) return reply;
    throw new Error(`a script answered ${JSON.stringify(reply)}`);
  }

  /**
   * Right after a failover there may be no link to the master yet: this waits for it, for 5,000 ms in all. Rejects with the
   * last error.
   */
  async #atMaster<T>(
    key: string,
    work: (link: Link) => Promise<T>,
    repeatable: (error: unknown) => boolean,
  ): Promise<T> {
    const endMs = this.#runtime.nowMs() + linkLimitMs;
    for (;;) {
      const link = this.places.masterOf(key);
      let trouble: unknown;
      if (link?.open === true) {
        try {
          return await work(link);
        } catch (error) {
          if (!repeatable(error)) throw error;
          if (error instanceof ReplyError) this.places.outdated();
          trouble = error;
        }
      } else if (link === null) {
        trouble = new Error(`no server is known that serves ${JSON.stringify(key)}; try again`);
      } else {
        trouble = link.noConnection;
      }
      if (this.#runtime.nowMs() + againMs > endMs) throw trouble;
      await new Promise<void>((resolve) => this.#runtime.setTimer(againMs, resolve));
    }
  }
}

/**
 * Whether nothing was done: the request was not sent, or was refused as a whole by a server that does not serve the key or
 * is no master.
 */
function wasNotDone(error: unknown): boolean {
  if (error instanceof NotSentError) return true;
  return error instanceof ReplyError && (error.kind === "moved" || error.kind === "not-master");
}

/** The outcome that a script's answer stands for. `done`: the word with which the script reports success. */
export function outcomeOf([said]: readonly unknown[], done: string, effects: readonly string[]): Outcome {
  if (said === done) return { outcome: "done", effects };
  if (said === "same") return { outcome: "would-do", effects };
  // "changed", "other" and "conflict" all mean that the lock is not what the operator saw.
  return { outcome: said === "free" ? "nothing-there" : "conflict", effects: [] };
}

/** The outcome where an action can have no effect, for example because the holder's library cannot be asked. */
export function unsupported(why: string): Outcome {
  return { outcome: "unsupported", effects: [why] };
}
