import { longestPauseMs } from "./dialer.js";
import type { ConnectionManager } from "./library.js";

/**
 * The pauses between the rounds in which a given client dials its servers. The library waits up to `spinDelay` after
 * each round, a second by default, and a holder must hear sooner that its session is over. So while a session of ours is above, the
 * pauses begin short and double as those of `Dialer` do, up to what its owner has set.
 */
export class DialPace {
  readonly #manager: ConnectionManager;
  /** The pause as the client's owner has set it, while ours is in its place. */
  #ownMs: number | null = null;
  #dials = 0;

  constructor(manager: ConnectionManager) {
    this.#manager = manager;
  }

  begin(): void {
    this.#ownMs ??= this.#manager.spinDelay;
    this.progress();
  }

  /** The owner has the client to itself again. */
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
