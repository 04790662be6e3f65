import type { Millis } from "@holdfast/core";
import type { Subscription } from "../client/redis-line.js";
import { grantChannel } from "../layout/channels.js";
import { type HandOver, parseGrantMessage } from "../layout/grant-message.js";
import type { Holds } from "./holds.js";
import type { OwnOwners } from "./own-owners.js";
import type { Requests } from "./requests.js";
import type { Waits } from "./waits.js";

export type UnknownGrant = Pick<HandOver, "key" | "owner">;

/** What the channel reports to. */
interface ChannelParts {
  readonly requests: Requests;
  readonly owners: OwnOwners;
  readonly waits: Waits;
  readonly holds: Holds;
}

/** Who wants to hear of wishes waits for the first subscription of the provider, and not for ever. */
const subscriptionWaitMs: Millis = 1_000;

/** The one channel of a provider on which other clients of ours tell it of grants, thefts and wishes. */
export class GrantChannel {
  readonly #parts: ChannelParts;
  readonly #onUnknownGrant: (grant: UnknownGrant) => void;
  #subscription: Subscription | undefined;
  #stands = false;

  constructor(parts: ChannelParts, onUnknownGrant: (grant: UnknownGrant) => void) {
    this.#parts = parts;
    this.#onUnknownGrant = onUnknownGrant;
  }

  /** From the first request on. Nobody waits for it: what was said before it stands is learnt from the heartbeat that follows. */
  listen(): void {
    if (this.#subscription !== undefined) return;
    const { requests, owners, waits } = this.#parts;
    this.#subscription = requests.line.subscribe(grantChannel(owners.uuid), "plain", (text) =>
      this.#heard(text),
    );
    this.#subscription.ready.then(
      () => {
        this.#stands = true;
        waits.beatAll();
      },
      () => {}, // closed before it stood
    );
  }

  /** Until messages arrive, or for so long: a wish that nobody hears is not said again. */
  async heard(waitMs: Millis = subscriptionWaitMs): Promise<void> {
    const ready = this.#subscription?.ready;
    if (ready === undefined || this.#stands) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#parts.requests.runtime.setTimer(waitMs, resolve);
      const done = (): void => {
        cancel();
        resolve();
      };
      ready.then(done, done);
    });
  }

  close(): void {
    this.#subscription?.end();
  }

  #heard(text: string): void {
    const message = parseGrantMessage(text);
    if (message === null) return;
    const { waits, holds, requests } = this.#parts;
    const { owner } = message;
    const wait = waits.find(owner);
    switch (message.type) {
      case "granted":
        if (wait !== undefined) wait.handedOver(message, requests.runtime.nowMs());
        // Of one that has it already it says nothing new.
        else if (holds.find(owner) === undefined) this.#unwanted(message);
        return;
      case "nudge":
        if (wait !== undefined) waits.beatNow(wait);
        return;
      case "stolen":
        holds.stolen(owner);
        return;
      case "revoke":
        for (const hold of holds.of(owner)) hold.revokeAsked();
    }
  }

  /** Rule 3: given back at once if its owner was ours; one never known is somebody else's mistake or worse, and not ours to end. */
  #unwanted({ key, owner }: HandOver): void {
    const { waits, owners } = this.#parts;
    if (!waits.cancelPast(owner) && !owners.hasDrawn(owner)) this.#onUnknownGrant({ key, owner });
  }
}
