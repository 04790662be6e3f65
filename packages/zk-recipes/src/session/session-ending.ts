import type { Millis, Runtime } from "@holdfast/core";
import { settledWithin } from "@holdfast/core/internal";
import type { Link } from "../client/link.js";
import type { Leftovers } from "./leftovers.js";
import { ServerClose } from "./server-close.js";

/**
 * Decides what happens to the client below a session that is over. A client of our own closes the session at the server
 * and ends. A user's client is released as soon as none of our nodes is left in its session.
 */
export class SessionEnding {
  readonly #link: Link;
  readonly #runtime: Runtime;
  /** Set for an adopted client, whose session we may not end. */
  readonly #leftovers: Leftovers | null;
  readonly #released: (() => void) | undefined;
  #serverClose: ServerClose | null = null;

  constructor(link: Link, runtime: Runtime, leftovers: Leftovers | null, released: (() => void) | undefined) {
    this.#link = link;
    this.#runtime = runtime;
    this.#leftovers = leftovers;
    this.#released = released;
  }

  /** The session was lost. No caller waits for the end of its client. */
  lost(): void {
    if (this.#leftovers === null) {
      this.#serverClose = new ServerClose(this.#link, this.#runtime, this.#link.timeoutMs, false);
    } else {
      void this.#letGo(this.#leftovers);
    }
  }

  /**
   * The session was closed; waits for the end of that for at most `waitMs`. `wasOver`: the session had been lost before.
   * `met`: a server knows it.
   */
  async closed(waitMs: Millis, { wasOver, met }: { wasOver: boolean; met: boolean }): Promise<void> {
    const leftovers = this.#leftovers;
    if (leftovers === null) {
      if (wasOver) return this.#serverClose?.within(waitMs);
      this.#serverClose = new ServerClose(this.#link, this.#runtime, met ? waitMs : 0, true);
      return this.#serverClose.done;
    }
    if (!wasOver) void this.#letGo(leftovers);
    // Nodes that are left after that are deleted as soon as the client is connected again, however long that takes.
    await settledWithin(this.#runtime, leftovers.done, waitMs, { ref: true });
  }

  async #letGo(leftovers: Leftovers): Promise<void> {
    leftovers.clear(this.#link);
    await leftovers.done;
    this.#released?.();
  }
}
