import { longestPauseMs } from "./dialer.js";
import type { ConnectionManager } from "./library.js";

/**
 * Sets the pauses between the rounds in which a given client dials its servers. By itself the library waits up to
 * `spinDelay`, by default a second, after each round. A holder must learn sooner that its session is over. While a
 * session of ours uses the client, the pauses therefore begin short and double, as those of `Dialer` do. They never grow
 * beyond the `spinDelay` that the client's owner has set.
 */
export class DialPace {
  readonly #manager: ConnectionManager;
  /** The owner's `spinDelay`, while our own pause is in its place; otherwise `null`. */
  #ownMs: number | null = null;
  #dials = 0;

  constructor(manager: ConnectionManager) {
    this.#manager = manager;
  }

  begin(): void {
    this.#ownMs ??= this.#manager.spinDelay;
    this.progress();
  }

  /** Puts the owner's pause back: no session of ours uses the client any more. */
  end(): void {
    if (this.#ownMs !== null) this.#manager.spinDelay = this.#ownMs;
    this.#ownMs = null;
  }

  /** The connection has served a request. */
  progress(): void {
    this.#dials = 0;
    this.#set();
  }

  /** One more attempt begins. */
  dialling(): void {
    this.#dials += 1;
    this.#set();
  }

  #set(): void {
    if (this.#ownMs === null) return;
    const { servers, sessionTimeout } = this.#manager;
    const round = Math.floor(this.#dials / (servers.length + 1));
    this.#manager.spinDelay = Math.min(this.#ownMs, longestPauseMs(round, sessionTimeout));
  }
}
