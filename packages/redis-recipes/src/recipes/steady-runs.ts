import { BackendError, type Millis } from "@holdfast/core";
import type { GrantEngine } from "@holdfast/core/internal";
import { OutcomeUnknownError } from "../client/errors.js";
import type { RedisLine } from "../client/redis-line.js";
import type { Script } from "../scripts/script.js";
import { conflictIn } from "./foreign-key.js";
import type { WakeRooms } from "./wake-rooms.js";
import { watchChannel } from "./watch-channel.js";

export interface RunCall {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  /** May be done twice with the effect of once. Otherwise only what was not sent is sent again. */
  readonly repeatable: boolean;
  /** Sits an outage out by the rule for those who wait; else by the one for those who only ask. */
  readonly patient: boolean;
}

const pauseMs: Millis = 100;

/** Calls of what is no grant: sent again after trouble in transport, where that can do no harm, until the outage is too long. */
export class SteadyRuns {
  readonly engine: GrantEngine;
  readonly line: RedisLine;
  readonly rooms: WakeRooms;

  constructor(engine: GrantEngine, line: RedisLine, rooms: WakeRooms) {
    this.engine = engine;
    this.line = line;
    this.rooms = rooms;
  }

  /** Rejects with the last error once `connectTimeoutMs` has passed, and at once with one that will not pass. */
  async run<R>(script: Script<R>, call: RunCall): Promise<R> {
    const { engine, line } = this;
    const { runtime, options } = engine;
    const endMs = runtime.nowMs() + options.connectTimeoutMs;
    for (;;) {
      if (line.state !== "connected") {
        await (call.patient ? engine.contactRegained() : engine.contact());
      }
      try {
        return (await line.run(script, call.keys, call.args)).reply;
      } catch (error) {
        if (error instanceof OutcomeUnknownError && !call.repeatable) throw unsure(error);
        const passing = error instanceof BackendError && error.retryable;
        if (!passing || engine.closed || runtime.nowMs() + pauseMs >= endMs)
          throw conflictIn(call.keys, error);
      }
      await new Promise<void>((resolve) => runtime.setTimer(pauseMs, resolve, { ref: true }));
    }
  }

  watch(channel: string, kind: "plain" | "redisson", changed: () => void): () => void {
    return watchChannel(this.rooms, this.engine.runtime, { name: channel, kind }, changed);
  }
}

/** The same call again could count twice. */
function unsure(cause: OutcomeUnknownError): BackendError {
  return new BackendError(`${cause.message}; it may have been done`, {
    cause,
    backend: "redis",
    servers: cause.servers,
    retryable: false,
  });
}
