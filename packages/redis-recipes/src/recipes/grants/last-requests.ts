import type { Millis } from "@holdfast/core";
import { RecentMap } from "@holdfast/core/internal";
import { warnProcess } from "../../client/warnings.js";
import type { BoundCall } from "../requests/calls.js";
import type { Requests } from "../requests/requests.js";

/** How long a master that was cut off or stopped may go on answering after another master has its place. */
const rememberedMs: Millis = 60_000;
/** How many requests are remembered; the ones that were answered last are kept. */
const mostRemembered = 10_000;

interface LastRequest {
  readonly call: BoundCall<{ readonly serverMs: number }>;
  readonly key: string;
  readonly untilMs: Millis;
  /** Run id of the master that answered last. */
  runId: string;
  asking: boolean;
}

/**
 * Requests that end what would never end by itself, such as giving back permits without a lease. A master may answer such a
 * request and then be replaced by a replica that does not have it: the master may be killed at that moment, or be stopped and not
 * know yet that another has its place. So the next master is asked as well. Such a request has the effect of one, however often
 * it is executed.
 */
export class LastRequests {
  readonly #requests: Requests;
  /** The requests by their calls. */
  readonly #remembered: RecentMap<LastRequest["call"], LastRequest>;

  constructor(requests: Requests) {
    this.#requests = requests;
    this.#remembered = new RecentMap(mostRemembered, ({ untilMs }) => untilMs <= requests.runtime.nowMs());
  }

  answered(call: LastRequest["call"], key: string, runId: string): void {
    const untilMs = this.#requests.runtime.nowMs() + rememberedMs;
    const request: LastRequest = { call, key, untilMs, runId, asking: false };
    this.#remembered.set(call, request);
    // Its master may have been replaced while the answer was on its way.
    void this.#askNext(request);
  }

  masterChanged(): void {
    this.#remembered.forgetOld();
    for (const request of this.#remembered.values()) void this.#askNext(request);
  }

  async #askNext(request: LastRequest): Promise<void> {
    if (request.asking) return;
    const { line, runtime } = this.#requests;
    request.asking = true;
    try {
      while (line.masterOf(request.key) !== request.runId) {
        const { runId } = await this.#requests.runUntilAnswered(request.call, runtime.nowMs() + rememberedMs);
        if (runId === null) throw new Error(`no answer for ${rememberedMs} ms`);
        request.runId = runId;
      }
    } catch (error) {
      this.#remembered.delete(request.call);
      if (!line.closed) warnProcess(unconfirmed(request.key, error), "HF_GIVE_BACK_UNCONFIRMED");
    } finally {
      request.asking = false;
    }
  }
}

function unconfirmed(key: string, error: unknown): string {
  return `what was given back at ${JSON.stringify(key)} may be lost with the master that had confirmed it: the next one did not: ${String(error)}`;
}
