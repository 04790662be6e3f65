import type { Millis } from "@holdfast/core";
import type { Subscription } from "../client/redis-line.js";
import { grantChannel } from "../layout/channels.js";
import { type HandOver, parseGrantMessage } from "../layout/grant-message.js";
import type { RedisDesk } from "./desk.js";

/** Who wants to hear of wishes waits for the first subscription of the provider, and not for ever. */
const subscriptionWaitMs: Millis = 1_000;

/** The one channel of a provider on which other clients of ours tell it of grants, thefts and wishes. */
export class GrantChannel {
  readonly #desk: RedisDesk;
  #subscription: Subscription | undefined;
  #stands = false;

  constructor(desk: RedisDesk) {
    this.#desk = desk;
  }

  /** From the first request on. Nobody waits for it: what was said before it stands is learnt from the heartbeat that follows. */
  listen(): void {
    if (this.#subscription !== undefined) return;
    const { line, uuid, waits } = this.#desk;
    this.#subscription = line.subscribe(grantChannel(uuid), "plain", (text) => this.#heard(text));
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
      const cancel = this.#desk.runtime.setTimer(waitMs, resolve);
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
    const { waits, holds, runtime } = this.#desk;
    const { owner } = message;
    const wait = waits.find(owner);
    switch (message.type) {
      case "granted":
        if (wait !== undefined) wait.handedOver(message, runtime.nowMs());
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
    const { waits, onUnknownGrant } = this.#desk;
    if (!waits.cancelPast(owner) && !this.#desk.hasDrawn(owner)) onUnknownGrant({ key, owner });
  }
}
