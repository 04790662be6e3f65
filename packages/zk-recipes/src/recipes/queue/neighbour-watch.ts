import type { ZooKeeperError } from "@holdfast/zk-protocol";
import { type NodeData, NodeWatch } from "../session/node-watch.js";
import type { SessionContext } from "../session-context.js";

/** At most one of the two methods is called, and only once. */
export interface NeighbourListener {
  aheadGone(watch: NeighbourWatch, heardBy: "event" | "read"): void;
  /** The server does not let us read the node, and so will never report its end. */
  aheadRefused(watch: NeighbourWatch, error: ZooKeeperError): void;
}

/** The watch on a node ahead of us in the queue. It is over once it has reported to its listener. */
export class NeighbourWatch extends NodeWatch {
  readonly name: string;
  /** The session that owns the node, once the node was read. */
  owner: bigint | null = null;
  readonly #listener: NeighbourListener;

  constructor(context: SessionContext, path: string, name: string, listener: NeighbourListener) {
    super(context, path);
    this.name = name;
    this.#listener = listener;
  }

  protected override read({ stat }: NodeData): void {
    this.owner = stat.ephemeralOwner;
  }

  protected override gone(heardBy: "event" | "read"): void {
    this.stop();
    this.#listener.aheadGone(this, heardBy);
  }

  protected override refused(error: ZooKeeperError): void {
    this.stop();
    this.#listener.aheadRefused(this, error);
  }
}
