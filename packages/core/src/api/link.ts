import type { Millis, SessionState } from "./values.js";

/**
 * What a provider needs to know of its connection. Each change of `state` must also be emitted as the event
 * `session-state`, after `state` shows it: core starts and stops its own bounds there.
 */
export interface BackendLink {
  /** The state that the event `session-state` reports. Core asks a driver for grants only while it is `connected`. */
  readonly state: SessionState;
  /** Rejects with `BackendError`, naming servers and last cause, after `waitMs` or earlier; with `signal.reason` when aborted. */
  whenConnected(options: { waitMs: Millis; signal?: AbortSignal }): Promise<void>;
}
