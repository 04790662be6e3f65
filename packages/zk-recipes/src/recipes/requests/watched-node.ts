import type { Watched } from "@holdfast/core/internal";
import type { ResponseOf } from "@holdfast/zk-protocol";
import type { Outcome, WatchHandle } from "../../session/types.js";
import type { SessionContext } from "../session-context.js";
import { type CallInfo, orAbsent, type RetryingRequests } from "./retrying-requests.js";

export type FoundNode = ResponseOf<"getData">;

/**
 * A node that is read with a watch each time. The session keeps the watch over reconnects, so a mere break of contact is
 * not reported. A new session starts with a new read. If the node is not there, no watch is left behind.
 */
export class WatchedNode implements Watched<FoundNode | null> {
  answered = false;
  readonly #calls: RetryingRequests;
  readonly #call: CallInfo;
  #changed: () => void = () => {};
  #handle: WatchHandle | null = null;
  #notOver: () => void = () => {};
  #stopped = false;

  constructor(calls: RetryingRequests, lockName: string, path: string) {
    this.#calls = calls;
    this.#call = { lockName, path, patient: false };
  }

  subscribe(changed: () => void): () => void {
    this.#changed = changed;
    this.#stopped = false;
    return () => {
      this.#stopped = true;
      this.#notOver();
      this.#handle?.remove();
      this.#handle = null;
    };
  }

  async read(): Promise<FoundNode | null> {
    const found = await this.#calls.repeat({ ...this.#call, patient: this.answered }, (context) =>
      this.#watch(context),
    );
    this.answered = true;
    return found ?? (await this.#calls.absent(this.#call));
  }

  #watch(context: SessionContext): Promise<Outcome<FoundNode | null>> {
    this.#notOver();
    this.#handle?.drop();
    this.#handle = null;
    return new Promise((resolve) => {
      const handle = context.session.watchData(this.#call.path, {
        answered: (outcome) => {
          if (!outcome.ok) this.#forget(handle);
          resolve(orAbsent(outcome));
        },
        fired: () => {
          this.#forget(handle);
          this.#changed();
        },
      });
      if (this.#stopped) return handle.remove();
      this.#handle = handle;
      this.#notOver = context.whenOver(() => this.#changed());
    });
  }

  #forget(handle: WatchHandle): void {
    if (this.#handle === handle) this.#handle = null;
  }
}
