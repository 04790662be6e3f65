import type { Millis, Runtime } from "@holdfast/core";
import { settledWithin } from "@holdfast/core/internal";
import type { Link } from "../client/link.js";
import type { Leftovers } from "./leftovers.js";
import { ServerClose } from "./server-close.js";

/**
 * What becomes of the client below a session that is over: one of our own closes it at the server and ends; a user's own is let go
 * of, as soon as nothing of ours is left in its session.
 */
export class SessionEnding {
  readonly #link: Link;
  readonly #runtime: Runtime;
  /** Set for an adopted client, whose session we cannot end. */
  readonly #leftovers: Leftovers | null;
  readonly #released: (() => void) | undefined;
  #serverClose: ServerClose | null = null;

  constructor(link: Link, runtime: Runtime, leftovers: Leftovers | null, released: (() => void) | undefined) {
    this.#link = link;
    this.#runtime = runtime;
    this.#leftovers = leftovers;
    this.#released = released;
  }

  /** The session was lost; no caller waits for the end of its client. */
  lost(): void {
    if (this.#leftovers === null) {
      this.#serverClose = new ServerClose(this.#link, this.#runtime, this.#link.timeoutMs, false);
    } else {
      void this.#letGo(this.#leftovers);
    }
  }

  /** The session was closed, which is waited for as long. `wasOver`: it had been lost before. `met`: a server knows it. */
  async closed(waitMs: Millis, { wasOver, met }: { wasOver: boolean; met: boolean }): Promise<void> {
    const leftovers = this.#leftovers;
    if (leftovers === null) {
      if (wasOver) return this.#serverClose?.within(waitMs);
      this.#serverClose = new ServerClose(this.#link, this.#runtime, met ? waitMs : 0, true);
      return this.#serverClose.done;
    }
    if (!wasOver) void this.#letGo(leftovers);
    // Nodes that are left after that are deleted as soon as the client is connected, however long it is away.
    await settledWithin(this.#runtime, leftovers.done, waitMs, { ref: true });
  }

  async #letGo(leftovers: Leftovers): Promise<void> {
    leftovers.clear(this.#link);
    await leftovers.done;
    this.#released?.();
  }
}
