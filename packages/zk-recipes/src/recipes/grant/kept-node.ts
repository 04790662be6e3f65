import type { KeepingState } from "@holdfast/core/driver";
import { parentOf, type ResponseOf, ZooKeeperError } from "@holdfast/zk-protocol";
import type { Outcome, WatchHandle, WatchListener } from "../../session/types.js";
import type { SessionContext } from "../session-context.js";
import type { OwnNode, OwnNodeWatch } from "./own-node-watch.js";

/**
 * Listens for other clients that want a lock which its session keeps for the next owner. Every event of the lock's
 * children or of the own node counts as a wish. No listing finds out which client caused it, and such a watch is never
 * armed again.
 *
 * The lock may be lent only once both reads were answered and have shown the own node alone. Both answers must have come
 * over the connection on which the grant was made.
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

  /** Arms the watch on the own node, unless it is armed, then the one on the children, in one write. */
  listen(): void {
    this.#own.arm();
    this.#children = this.#context.session.watchChildren(parentOf(this.#node.path), this);
  }

  answered(outcome: Outcome<ResponseOf<"getChildren2">>): void {
    if (this.#over) return;
    if (!outcome.ok) {
      // If contact broke, the session notifies all its grants of that.
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

  /**
   * The read of the own node, or that of the children, was answered. After both, core calls `mayLend()` again, which may
   * still return `"no"`.
   */
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

  /** Call it when the node is about to be deleted, or is gone. */
  stop(): void {
    this.#over = true;
    this.#children?.drop();
  }
}
