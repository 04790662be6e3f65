import type { KeepingState } from "@holdfast/core/driver";
import { parentOf, type ResponseOf, ZooKeeperError } from "@holdfast/zk-protocol";
import type { Outcome, WatchHandle, WatchListener } from "../../session/types.js";
import type { SessionContext } from "../session-context.js";
import type { OwnNode, OwnNodeWatch } from "./own-node-watch.js";

/**
 * Listens for other clients of a lock that its session keeps for its next owner. Any event of the lock's children is taken for the wish
 * of one, with no listing and no question whose it was, and so is any event of the own node: such a watch is never armed again. It counts
 * only after both reads were answered and have shown the own node alone, over the connection on which the grant was made.
 */
export class KeptNode implements WatchListener<ResponseOf<"getChildren2">> {
  readonly #context: SessionContext;
  readonly #node: OwnNode;
  readonly #own: OwnNodeWatch;
  readonly #state: KeepingState;
  readonly #connection: number;
  #children: WatchHandle | null = null;
  #alone = false;
  #over = false;

  constructor(context: SessionContext, node: OwnNode, own: OwnNodeWatch, state: KeepingState) {
    this.#context = context;
    this.#node = node;
    this.#own = own;
    this.#state = state;
    this.#connection = context.session.connection;
  }

  /** In one write: the own node, unless its watch is there, then the children. */
  listen(): void {
    this.#own.arm();
    this.#children = this.#context.session.watchChildren(parentOf(this.#node.path), this);
  }

  answered(outcome: Outcome<ResponseOf<"getChildren2">>): void {
    if (this.#over) return;
    if (!outcome.ok) {
      // Where contact broke, the session says so to all of its grants.
      if (outcome.error instanceof ZooKeeperError) this.#state.wanted();
      return;
    }
    const { children } = outcome.value;
    if (children.length !== 1 || children[0] !== this.#node.name) return this.#state.wanted();
    this.#alone = true;
    this.ownAnswered();
  }

  fired(): void {
    this.#state.wanted();
  }

  /** The read of the own node was answered, or that of the children. After both core asks again, and may hear `"no"`. */
  ownAnswered(): void {
    if (!this.#over && this.#listened) this.#state.answered();
  }

  mayLend(): "yes" | "soon" | "no" {
    const { session, leaseAhead } = this.#context;
    if (this.#over || !leaseAhead || session.connection !== this.#connection) return "no";
    // The wish of another client, or the end of the node, may have arrived long ago and not be read yet.
    if (session.behind) return "no";
    return this.#listened ? "yes" : "soon";
  }

  get #listened(): boolean {
    return this.#alone && this.#own.trusted;
  }

  /** The node is about to be deleted, or is gone. */
  stop(): void {
    this.#over = true;
    this.#children?.drop();
  }
}
