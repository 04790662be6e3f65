import type { LockEventMap, Millis } from "@holdfast/core";
import type { EventHub } from "@holdfast/core/internal";
import type { Command, Outcome } from "./commands.js";
import { NotSentError, OutcomeUnknownError, ReplyError } from "./errors.js";
import { scriptNameOf } from "./script-command.js";

export interface RequestSettled {
  /** The name of the script, or of the command where it is no script. */
  readonly op: string;
  /** From when the command was written to its answer, or to when its caller stops waiting for it. */
  readonly tookMs: Millis;
  readonly outcome: LockEventMap["request-settled"]["outcome"];
}

/** Hears of each command that was written, once; of those that keep a connection up (INFO, PING) it does not. */
export interface RequestMeter {
  /** Asked before anything is measured. */
  readonly wanted: boolean;
  settled(request: RequestSettled): void;
}

/** Reports to the listeners of a provider. */
export function requestMeter(events: EventHub): RequestMeter {
  return {
    get wanted() {
      return events.has("request-settled");
    },
    settled: (request) => events.emit("request-settled", request),
  };
}

/** Commands of one write; each is reported once, however late its answer is. */
export class MeteredFlight {
  readonly #meter: RequestMeter;
  readonly #commands: readonly Command[];
  readonly #sentMs: Millis;
  readonly #told: Set<Command> = new Set();

  constructor(meter: RequestMeter, commands: readonly Command[], sentMs: Millis) {
    this.#meter = meter;
    this.#commands = commands;
    this.#sentMs = sentMs;
  }

  settled(command: Command, outcome: Outcome, nowMs: Millis): void {
    if (this.#told.has(command)) return;
    this.#told.add(command);
    if ("error" in outcome && outcome.error instanceof NotSentError) return;
    this.#tell(command, "reply" in outcome ? "ok" : outcomeOf(outcome.error), nowMs);
  }

  /** The caller waits no longer: commands without an answer are reported as unknown. */
  over(nowMs: Millis): void {
    for (const command of this.#commands) {
      if (this.#told.has(command)) continue;
      this.#told.add(command);
      this.#tell(command, "unknown", nowMs);
    }
  }

  #tell(command: Command, outcome: RequestSettled["outcome"], nowMs: Millis): void {
    this.#meter.settled({ op: opOf(command), tookMs: nowMs - this.#sentMs, outcome });
  }
}

/** Reports a command that is no script of ours. */
export function tellSettled(meter: RequestMeter, op: string, tookMs: Millis, error: unknown): void {
  // ioredis keeps the name even where it is another copy of it that made the error.
  const refused = error instanceof Error && error.name === "ReplyError";
  meter.settled({ op, tookMs, outcome: error === null ? "ok" : refused ? "error" : "unknown" });
}

function opOf(command: Command): string {
  const [name, body] = command;
  return (name === "evalsha" || name === "eval" ? scriptNameOf(String(body)) : undefined) ?? name;
}

function outcomeOf(error: Error): "error" | "unknown" {
  return error instanceof OutcomeUnknownError || !(error instanceof ReplyError) ? "unknown" : "error";
}
