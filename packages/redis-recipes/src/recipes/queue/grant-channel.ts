import type { Millis } from "@holdfast/core";
import { settledWithin } from "@holdfast/core/internal";
import type { Subscription } from "../../client/redis-line.js";
import { grantChannel } from "../../layout/channels.js";
import { type HandOver, parseGrantMessage } from "../../layout/grant-message.js";
import type { WireOwners } from "../../layout/owners.js";
import type { Holds } from "../grants/holds.js";
import type { Requests } from "../requests/requests.js";
import type { Waits } from "./waits.js";

export type UnknownGrant = Pick<HandOver, "key" | "owner">;

/** One subscription without a gap: `Subscription.ready` is a new promise after each gap. */
export type Hearing = Subscription["ready"];

/** The parts of the provider to which the channel reports. */
interface ChannelParts {
  readonly requests: Requests;
  readonly owners: WireOwners;
  readonly waits: Waits;
  readonly holds: Holds;
}

/**
 * How long a revocable request waits for the first subscription of the provider. After one vain wait later requests do not wait.
 */
const subscriptionWaitMs: Millis = 1_000;

/**
 * The one channel of a provider on which other clients of ours send messages: grants, forced releases, requests to release, and
 * that they want a lock which this provider may only keep.
 */
export class GrantChannel {
  readonly #parts: ChannelParts;
  readonly #onUnknownGrant: (grant: UnknownGrant) => void;
  #subscription: Subscription | undefined;
  /** The subscription stands, or one request waited for it in vain although the server answers; the server may deny it. */
  #awaited = false;

  constructor(parts: ChannelParts, onUnknownGrant: (grant: UnknownGrant) => void) {
    this.#parts = parts;
    this.#onUnknownGrant = onUnknownGrant;
  }

  /**
   * Subscribes, at the first request. No request waits for the subscription: a message that was published before is made up for
   * by the heartbeat that follows.
   */
  listen(): void {
    if (this.#subscription !== undefined) return;
    const { requests, owners, waits } = this.#parts;
    this.#subscription = requests.line.subscribe(grantChannel(owners.uuid), "plain", this.#received);
    this.#subscription.ready.then(
      () => {
        this.#awaited = true;
        waits.heartbeatAll();
      },
      () => {}, // closed before it stood
    );
  }

  /** Resolves once messages arrive, or after `subscriptionWaitMs`: a request to release is not sent again if it is missed. */
  async subscribed(): Promise<void> {
    const { line, runtime } = this.#parts.requests;
    const ready = this.#subscription?.ready;
    if (ready === undefined || this.#awaited) return;
    await settledWithin(runtime, ready, subscriptionWaitMs);
    if (line.state === "connected") this.#awaited = true;
  }

  /** `null` while messages do not arrive. While the value stays the same, no message was missed. */
  get hearing(): Hearing | null {
    return this.#subscription?.live === true ? this.#subscription.ready : null;
  }

  close(): void {
    this.#subscription?.end();
  }

  readonly #received = (text: string): void => {
    const message = parseGrantMessage(text);
    if (message === null) return;
    const { waits, holds, requests, owners } = this.#parts;
    const { owner } = message;
    const wait = waits.find(owner);
    switch (message.type) {
      case "granted":
        if (wait !== undefined) wait.handedOver(message, requests.runtime.nowMs());
        // If the owner already has the lock, the message is not news. Rule 3: if the owner has ended, its grant is given back at
        // once. An owner that was never drawn here is a mistake of another client or worse, and this provider does not end its
        // grant.
        else if (holds.of(owner).length === 0 && !waits.cancelEnded(owner) && !owners.hasDrawn(owner))
          this.#onUnknownGrant({ key: message.key, owner });
        return;
      case "nudge":
        if (wait !== undefined) waits.heartbeatNow(wait);
        return;
      case "stolen":
        holds.stolen(owner);
        return;
      case "revoke":
        for (const hold of holds.of(owner)) hold.revokeAsked();
        return;
      case "wanted":
        for (const hold of holds.of(owner)) hold.wanted();
    }
  };
}
