import type { Capabilities } from "../api/capabilities.js";
import type { LockEventMap, LockEvents, ProviderEventBase } from "../api/events.js";
import type { Runtime } from "../api/runtime.js";
import { stackOf } from "../options/checks.js";
import { systemRuntime } from "../runtime.js";
import { outsideScopes } from "../scope-store.js";
import { channelOf } from "./channels.js";

type Listener<K extends keyof LockEventMap> = (event: LockEventMap[K]) => void;

/** An event without what the hub adds to each: `provider`, `backend` and `at`. */
export type EventDetail<K extends keyof LockEventMap> = Omit<LockEventMap[K], keyof ProviderEventBase>;

export interface EventSource {
  /** `LockProvider.id`. */
  readonly provider: string;
  readonly backend: Capabilities["backend"];
  readonly runtime?: Runtime;
}

/**
 * The events of one provider. In hot paths ask `has(type)` first, so that no detail is built while the type has no listener.
 * Listeners run at once, outside of every caller's scope.
 */
export class EventHub implements LockEvents {
  readonly source: EventSource;
  readonly #listeners = new Map<keyof LockEventMap, readonly Listener<never>[]>();

  constructor(source: EventSource) {
    this.source = source;
  }

  on<K extends keyof LockEventMap>(type: K, listener: Listener<K>): Disposable {
    // A new function for each call: a listener that is added twice is called twice, and each disposal removes only its own.
    const added: Listener<K> = (event) => listener(event);
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), added as Listener<never>]);
    return {
      [Symbol.dispose]: () => {
        const rest = (this.#listeners.get(type) ?? []).filter((each) => each !== (added as Listener<never>));
        if (rest.length === 0) this.#listeners.delete(type);
        else this.#listeners.set(type, rest);
      },
    };
  }

  /** Whether a listener or a subscriber of the diagnostics channel would get the event. */
  has(type: keyof LockEventMap): boolean {
    return this.#listeners.has(type) || channelOf(type)?.hasSubscribers === true;
  }

  emit<K extends keyof LockEventMap>(type: K, detail: EventDetail<K>): void {
    const listeners = this.#listeners.get(type);
    const channel = channelOf(type);
    const published = channel?.hasSubscribers === true;
    if (listeners === undefined && !published) return;
    const { provider, backend, runtime = systemRuntime } = this.source;
    const event = { provider, backend, at: runtime.nowMs(), ...detail } as unknown as LockEventMap[K];
    outsideScopes(() => {
      if (published) channel.publish(event);
      for (const listener of listeners ?? []) {
        try {
          const returned: unknown = (listener as Listener<K>)(event);
          // An async listener rejects instead of throwing.
          if (returned instanceof Promise) returned.catch((error) => warnOfListener(type, error));
        } catch (error) {
          warnOfListener(type, error);
        }
      }
    });
  }
}

/** The error of a listener must not harm the call that caused the event, and must not go unseen. */
function warnOfListener(type: string, error: unknown): void {
  process.emitWarning(`a listener of the event "${type}" threw: ${stackOf(error)}`, {
    type: "HoldfastWarning",
  });
}
