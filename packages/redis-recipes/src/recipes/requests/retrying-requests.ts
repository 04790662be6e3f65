import { BackendError, type Millis } from "@holdfast/core";
import { type GrantEngine, pause } from "@holdfast/core/internal";
import { OutcomeUnknownError } from "../../client/errors.js";
import type { Answer, RedisLine } from "../../client/redis-line.js";
import type { Late } from "../../scripts/mutex/answers.js";
import type { Script } from "../../scripts/script.js";
import type { ChannelWaiters } from "../channels/channel-waiters.js";
import type { Requests } from "./requests.js";
import { isMisdated } from "./server-clock.js";

export interface RetriedCall<R> {
  readonly keys: readonly string[];
  /**
   * Called for each sending: the date, and how messages reach Java, are known only while there is contact, and hold only for that
   * moment.
   */
  args(): readonly (string | number)[];
  /** Whether executing it twice has the effect of once. If not, only a call that was not sent is sent again. */
  readonly repeatable: boolean;
  /**
   * For a call that is not repeatable: the arguments of the same script for a look, and whether what the look finds shows that the
   * call needs no repeat. Then the answer to the look counts as that of a call whose answer was lost.
   */
  readonly look?: { args(): readonly (string | number)[]; isDone(found: Exclude<R, Late>): boolean };
  /** Whether the call sits an outage out by the rule for calls that wait; otherwise by the rule for calls that only ask. */
  readonly patient: boolean;
}

/**
 * Calls for primitives that are not granted. After trouble in transport a call is sent again where that does no harm, until the
 * outage is too long.
 */
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

  /**
   * Retries as `options.retry` says. Rejects with the last error once `connectTimeoutMs` has passed, and at once with an error
   * that will not pass. A look has the same time once more.
   */
  async run<R extends { readonly serverMs: number }>(
    script: Script<R>,
    call: RetriedCall<R>,
  ): Promise<Exclude<R, Late>> {
    const { engine, line, requests } = this;
    const { runtime, options } = engine;
    const startedMs = runtime.nowMs();
    const endMs = startedMs + options.connectTimeoutMs;
    for (let tries = 1, redated = false; ; tries++) {
      if (line.state !== "connected") {
        await (call.patient ? engine.contactRegained() : engine.contact());
      }
      let delayMs: Millis | null = null;
      try {
        const answer = await requests.run({ script, keys: call.keys, args: call.args() });
        const { reply } = answer;
        if (!isLate(reply)) return reply as Exclude<R, Late>;
        if (!redated && isMisdated(answer as Answer<R & Late>, requests.settings.commandTimeoutMs)) {
          redated = true;
          tries--;
          continue;
        }
        throw new BackendError("Redis took the request up only after its time, and did nothing", {
          backend: "redis",
        });
      } catch (error) {
        if (error instanceof OutcomeUnknownError && !call.repeatable) {
          const { keys, look } = call;
          if (look === undefined) throw unsure(error);
          const again = { keys, args: look.args, repeatable: true, patient: false };
          // Where the look fails too, the first error says what matters: that the call may have been done.
          const found = await this.run(script, again).catch(() => null);
          if (found === null || !look.isDone(found)) throw unsure(error);
          return found;
        }
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

/** The error for a call that must not be sent again, since it could count twice. */
function unsure(cause: OutcomeUnknownError): BackendError {
  return new BackendError(`${cause.message}; it may have been done`, {
    cause,
    backend: "redis",
    servers: cause.servers,
    retryable: false,
  });
}
