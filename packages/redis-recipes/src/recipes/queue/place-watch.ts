import type { Subscription } from "../../client/redis-line.js";
import type { Queued } from "../../scripts/mutex/answers.js";
import type { Requests } from "../requests/requests.js";
import { expiryGraceMs } from "../requests/server-clock.js";
import { freshTurns } from "./hand-over.js";

/** What a waiter looks out for besides messages and its regular heartbeats, by the place in which the last answer has found it. */
export class PlaceWatch {
  readonly #requests: Requests;
  readonly #heartbeat: () => void;
  #cancelLapse: (() => void) | undefined;
  #java: { readonly channel: string; readonly subscription: Subscription } | undefined;

  /** `heartbeat`: asks for the turn now. */
  constructor(requests: Requests, heartbeat: () => void) {
    this.#requests = requests;
    this.#heartbeat = heartbeat;
  }

  /** `channel`: what `channelFor` says of this place. */
  placed(place: Queued, channel: string | null): void {
    this.#listen(channel);
    this.#expectLapse(place);
  }

  end(): void {
    this.#cancelLapse?.();
    this.#listen(null);
  }

  /** Rule 5: no message says that a hold has lapsed; the first waiter looks when its time is over. */
  #expectLapse({ position, holderPttlMs }: Queued): void {
    const { runtime, settings } = this.#requests;
    this.#cancelLapse?.();
    if (position !== 0 || holderPttlMs < 0) return;
    // A heartbeat comes before that, and brings a newer date.
    if (holderPttlMs > freshTurns * settings.heartbeatMs) return;
    this.#cancelLapse = runtime.setTimer(holderPttlMs + expiryGraceMs, this.#heartbeat);
  }

  /** Rule 6: of a release by Java only those clients hear that listen to its channel. */
  #listen(channel: string | null): void {
    if (this.#java?.channel === channel) return;
    this.#java?.subscription.end();
    this.#java = undefined;
    if (channel === null) return;
    const subscription = this.#requests.line.subscribe(channel, "redisson", this.#heartbeat);
    this.#java = { channel, subscription };
    subscription.ready.then(
      // It may have been freed before the subscription stood.
      this.#heartbeat,
      () => {
        // Ended before it stood: with this place, or with the provider.
      },
    );
  }
}
