import type { Watched } from "@holdfast/core/internal";
import type { CallInfo, RetryingRequests } from "../recipes/requests/retrying-requests.js";
import { type FoundNode, WatchedNode } from "../recipes/requests/watched-node.js";
import type { SessionContext } from "../recipes/session-context.js";

/**
 * The node of a latch or barrier, for a client that waits there. A server that lags may show the node as it was before
 * the latch was set or the barrier shut. So the first look that would let the waiter pass counts only once the server has
 * caught up.
 */
export class GateNode implements Watched<FoundNode | null> {
  readonly #calls: RetryingRequests;
  readonly #call: CallInfo;
  readonly #node: WatchedNode;
  readonly #isShut: (found: FoundNode | null) => boolean;
  /**
   * The session on which the gate was seen shut since the last wait began. An open state that is read after that is not
   * an older one.
   */
  #sawShutOn: SessionContext | null = null;

  constructor(calls: RetryingRequests, call: CallInfo, isShut: (found: FoundNode | null) => boolean) {
    this.#calls = calls;
    this.#call = { ...call, patient: true };
    this.#node = new WatchedNode(calls, call.lockName, call.path);
    this.#isShut = isShut;
  }

  get answered(): boolean {
    return this.#node.answered;
  }

  subscribe(changed: () => void): () => void {
    this.#sawShutOn = null;
    return this.#node.subscribe(changed);
  }

  async read(): Promise<FoundNode | null> {
    const { context } = this.#calls.sessions;
    const found = await this.#node.read();
    if (this.#isShut(found)) this.#sawShutOn = context;
    const sure = this.#sawShutOn === context && context === this.#calls.sessions.context;
    if (this.#isShut(found) || sure) return found;
    const synced = await this.#calls.readSynced(this.#call);
    // The next look sets the watch again. It is no surer than the first one: the session may end under it, and the server
    // of the next session may lag.
    return this.#isShut(synced) ? await this.read() : found;
  }
}
