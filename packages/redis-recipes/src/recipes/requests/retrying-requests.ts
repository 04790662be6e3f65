import { BackendError, type Millis } from "@holdfast/core";
import { type GrantEngine, pause } from "@holdfast/core/internal";
import { OutcomeUnknownError } from "../../client/errors.js";
import type { RedisLine } from "../../client/redis-line.js";
import type { Late } from "../../scripts/mutex/answers.js";
import type { Script } from "../../scripts/script.js";
import type { ChannelWaiters } from "../channels/channel-waiters.js";
import type { Requests } from "./requests.js";

export interface RetriedCall {
  readonly keys: readonly string[];
  /** Asked each time it is sent: a date, and how messages reach Java, are known only once there is contact, and are of that moment. */
  args(): readonly (string | number)[];
  /** May be done twice with the effect of once. Otherwise only what was not sent is sent again. */
  readonly repeatable: boolean;
  /** Sits an outage out by the rule for calls that wait; else by the rule for calls that only ask. */
  readonly patient: boolean;
}

/** Calls of what is no grant: sent again after trouble in transport, where that can do no harm, until the outage is too long. */
export class RetryingRequests {
  readonly engine: GrantEngine;
  readonly requests: Requests;
  readonly line: RedisLine;
  readonly channelWaiters: ChannelWaiters;

  constructor(engine: GrantEngine, requests: Requests, channelWaiters: ChannelWaiters) {
    this.engine = engine;
    this.requests = requests;
    this.line = requests.line;
    this.channelWaiters = channelWaiters;
  }

  /** Tries again as `options.retry` says. Rejects with the last error once `connectTimeoutMs` has passed, and at once with one that will not pass. */
  async run<R extends { readonly serverMs: number }>(
    script: Script<R>,
    call: RetriedCall,
  ): Promise<Exclude<R, Late>> {
    const { engine, line, requests } = this;
    const { runtime, options } = engine;
    const startedMs = runtime.nowMs();
    const endMs = startedMs + options.connectTimeoutMs;
    for (let tries = 1; ; tries++) {
      if (line.state !== "connected") {
        await (call.patient ? engine.contactRegained() : engine.contact());
      }
      let delayMs: Millis | null = null;
      try {
        const { reply } = await requests.run({ script, keys: call.keys, args: call.args() });
        if (!isLate(reply)) return reply as Exclude<R, Late>;
        throw new BackendError("Redis took the request up only after its time, and did nothing", {
          backend: "redis",
        });
      } catch (error) {
        if (error instanceof OutcomeUnknownError && !call.repeatable) throw unsure(error);
        const nowMs = runtime.nowMs();
        if (error instanceof BackendError && error.retryable && !engine.closed)
          delayMs = options.retry.next(tries, nowMs - startedMs, error);
        if (delayMs === null || nowMs + delayMs >= endMs) throw error;
      }
      await pause(runtime, delayMs, { ref: true }).over;
    }
  }
}

const isLate = (reply: object): boolean => (reply as Partial<Late>).status === "late";

/** The same call again could count twice. */
function unsure(cause: OutcomeUnknownError): BackendError {
  return new BackendError(`${cause.message}; it may have been done`, {
    cause,
    backend: "redis",
    servers: cause.servers,
    retryable: false,
  });
}
