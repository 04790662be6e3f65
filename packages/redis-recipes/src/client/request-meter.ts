import type { LockEventMap, Millis } from "@holdfast/core";
import type { EventHub } from "@holdfast/core/internal";
import type { Command, Outcome } from "./commands.js";
import { NotSentError, OutcomeUnknownError, ReplyError } from "./errors.js";
import { scriptNameOf } from "./script-command.js";

export interface RequestSettled {
  /** The name of the script, or of the command where it is not a script. */
  readonly op: string;
  /** From the write of the command to its answer, or to the moment when its caller stops waiting for it. */
  readonly tookMs: Millis;
  readonly outcome: LockEventMap["request-settled"]["outcome"];
}

/** Is notified once of each command that was written, except of those that keep a connection up (INFO, PING). */
export interface RequestMeter {
  /** Asked before anything is measured. */
  readonly wanted: boolean;
  settled(request: RequestSettled): void;
}

/** A meter that emits `request-settled` to the listeners of a provider. */
export function requestMeter(events: EventHub): RequestMeter {
  return {
    get wanted() {
      return events.has("request-settled");
    },
    settled: (request) => events.emit("request-settled", request),
  };
}

/** The commands of one write. Each is reported once, however late its answer is. */
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

  /** The caller stops waiting: commands without an answer are reported as `unknown`. */
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

/** Reports a command that is not one of our scripts. */
export function tellSettled(meter: RequestMeter, op: string, tookMs: Millis, error: unknown): void {
  // Compare the name and not the class: the error may come from another copy of ioredis.
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
