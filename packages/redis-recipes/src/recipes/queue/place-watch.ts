import type { Subscription } from "../../client/redis-line.js";
import type { Queued } from "../../scripts/mutex/answers.js";
import type { Requests } from "../requests/requests.js";
import { expiryGraceMs } from "../requests/server-clock.js";
import { freshTurns } from "./hand-over.js";

/** What a waiter watches for besides messages and its regular heartbeats, depending on its place in the last answer. */
export class PlaceWatch {
  readonly #requests: Requests;
  readonly #heartbeat: () => void;
  #cancelLapse: (() => void) | undefined;
  #java: { readonly channel: string; readonly subscription: Subscription } | undefined;

  /** `heartbeat`: asks now whether its turn has come. */
  constructor(requests: Requests, heartbeat: () => void) {
    this.#requests = requests;
    this.#heartbeat = heartbeat;
  }

  /** `channel`: the result of `channelFor` for this place. */
  placed(place: Queued, channel: string | null): void {
    this.#listen(channel);
    this.#expectLapse(place);
  }

  end(): void {
    this.#cancelLapse?.();
    this.#listen(null);
  }

  /** Rule 5: no message says that a hold has expired. The first waiter looks when the time of the hold is over. */
  #expectLapse({ position, holderPttlMs }: Queued): void {
    const { runtime, settings } = this.#requests;
    this.#cancelLapse?.();
    if (position !== 0 || holderPttlMs < 0) return;
    // A heartbeat comes before that, and brings a newer date.
    if (holderPttlMs > freshTurns * settings.heartbeatMs) return;
    this.#cancelLapse = runtime.setTimer(holderPttlMs + expiryGraceMs, this.#heartbeat);
  }

  /** Rule 6: only clients that listen to Redisson's channel receive the message of a release by Java. */
  #listen(channel: string | null): void {
    if (this.#java?.channel === channel) return;
    this.#java?.subscription.end();
    this.#java = undefined;
    if (channel === null) return;
    const subscription = this.#requests.line.subscribe(channel, "redisson", this.#heartbeat);
    this.#java = { channel, subscription };
    subscription.ready.then(
      // The lock may have been freed before the subscription stood.
      this.#heartbeat,
      () => {
        // The subscription ended before it stood: this place or the provider is over.
      },
    );
  }
}
