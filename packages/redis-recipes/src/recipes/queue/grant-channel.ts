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

/** One subscription without a gap: `Subscription.ready` is a fresh promise after each. */
export type Hearing = Subscription["ready"];

/** What the channel reports to. */
interface ChannelParts {
  readonly requests: Requests;
  readonly owners: WireOwners;
  readonly waits: Waits;
  readonly holds: Holds;
}

/** A revocable request waits for the first subscription of the provider, and for no longer than that; those after a vain wait do not. */
const subscriptionWaitMs: Millis = 1_000;

/**
 * The one channel of a provider on which other clients of ours send it grants, forced releases, requests to let go, and that they want what
 * it may only keep.
 */
export class GrantChannel {
  readonly #parts: ChannelParts;
  readonly #onUnknownGrant: (grant: UnknownGrant) => void;
  #subscription: Subscription | undefined;
  /** It stands, or was waited for in vain although the server answers, which may deny it. */
  #awaited = false;

  constructor(parts: ChannelParts, onUnknownGrant: (grant: UnknownGrant) => void) {
    this.#parts = parts;
    this.#onUnknownGrant = onUnknownGrant;
  }

  /** From the first request on. No request waits for it: what was published before is learnt from the heartbeat that follows. */
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

  /** Resolves once messages arrive, or after `subscriptionWaitMs`: a request to let go that is not heard is not sent again. */
  async subscribed(): Promise<void> {
    const { line, runtime } = this.#parts.requests;
    const ready = this.#subscription?.ready;
    if (ready === undefined || this.#awaited) return;
    await settledWithin(runtime, ready, subscriptionWaitMs);
    if (line.state === "connected") this.#awaited = true;
  }

  /** `null` while messages do not arrive; as long as it is the same, none was missed. */
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
        // For an owner that has the lock already it is no news. Rule 3: the lock of an owner that has ended is given back at once. An owner that
        // was never drawn here is a mistake of another client or worse, and not ours to end.
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
