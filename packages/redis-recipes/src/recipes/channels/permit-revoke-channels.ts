import type { Millis } from "@holdfast/core";
import { settledWithin } from "@holdfast/core/internal";
import type { Subscription } from "../../client/redis-line.js";
import { ourChannels } from "../../layout/channels.js";
import type { Holds } from "../grants/holds.js";
import type { Requests } from "../requests/requests.js";

/** A grant waits no longer than this for the subscription by which its holder can be asked to release. */
const patienceMs: Millis = 1_000;

/**
 * Receives requests to release permits that are held here. It has one subscription for each semaphore of which revocable permits
 * are held.
 */
export class PermitRevokeChannels {
  readonly #requests: Requests;
  readonly #holds: Holds;
  readonly #subscriptions = new Map<string, Subscription>();

  constructor(requests: Requests, holds: Holds) {
    this.#requests = requests;
    this.#holds = holds;
  }

  /** Resolves once holders on this key are notified of requests to release, or after `patienceMs`. Never rejects. */
  async listen(key: string): Promise<void> {
    const { line, runtime, settings } = this.#requests;
    let subscription = this.#subscriptions.get(key);
    if (subscription === undefined) {
      subscription = line.subscribe(ourChannels.permitsWanted(key, settings.db), "redisson", () => {
        for (const hold of this.#holds.on(key)) hold.revokeAsked();
        this.leaveIfUnheld(key);
      });
      this.#subscriptions.set(key, subscription);
    }
    await settledWithin(runtime, subscription.ready, patienceMs, { ref: true });
  }

  /** Called when a hold on this key is over. */
  leaveIfUnheld(key: string): void {
    const subscription = this.#subscriptions.get(key);
    if (subscription === undefined || this.#holds.on(key).length > 0) return;
    subscription.end();
    this.#subscriptions.delete(key);
  }
}
