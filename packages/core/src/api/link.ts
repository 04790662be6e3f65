import type { Millis, SessionState } from "./values.js";

/**
 * What a provider needs to know of its connection. Each change of `state` must also be emitted as the event
 * `session-state`, after `state` shows it. Core starts and stops its own time limits on that event.
 */
export interface BackendLink {
  /** The state that the event `session-state` reports. Core asks a driver for grants only while it is `connected`. */
  readonly state: SessionState;
  /**
   * Resolves once `state` is `connected`. Rejects with a `BackendError` that names the servers and the last cause, after
   * `waitMs` or earlier, and with `signal.reason` when `signal` aborts.
   */
  whenConnected(options: { waitMs: Millis; signal?: AbortSignal }): Promise<void>;
}
