import type { ResponseOf, WatchEventType, ZooKeeperError } from "@holdfast/zk-protocol";
import { saysNoNode } from "../../session/errors.js";
import type { Outcome, WatchHandle, WatchListener } from "../../session/types.js";
import { isFinal } from "./failures.js";
import type { SessionContext } from "./session-context.js";

export type NodeData = ResponseOf<"getData">;

/**
 * The watch on one queue node: getData, so that a node that is already gone leaves no watch behind. It is armed again after each
 * change of the data, such as a revoke message, and after each outage.
 */
export abstract class NodeWatch implements WatchListener<NodeData> {
  readonly path: string;
  protected readonly context: SessionContext;
  /** The connection over which the present watch is known to count; 0 until its read is answered. */
  protected armedOn = 0;
  #handle: WatchHandle | null = null;
  #stopped = false;

  constructor(context: SessionContext, path: string) {
    this.context = context;
    this.path = path;
  }

  /** Answered OK on the present connection and not fired since: an event will report each later end of the node, in order. */
  get trusted(): boolean {
    return this.#handle !== null && this.armedOn === this.context.session.connection;
  }

  /** Nothing is listened to any more. */
  get over(): boolean {
    return this.#stopped;
  }

  arm(): void {
    if (this.#stopped || this.#handle !== null) return;
    this.armedOn = 0;
    this.#handle = this.context.session.watchData(this.path, this);
  }

  answered(outcome: Outcome<NodeData>): void {
    if (this.#stopped) return;
    if (outcome.ok) return this.read(outcome.value);
    this.#handle = null;
    const { error } = outcome;
    if (saysNoNode(error)) this.gone("read");
    else if (isFinal(error)) this.refused(error);
    else this.context.again(error, () => this.arm());
  }

  fired(type: WatchEventType): void {
    this.#handle = null;
    if (this.#stopped) return;
    if (type === "deleted") return this.gone("event");
    this.changed();
    this.arm();
  }

  /** Stops listening without a request. A registration that is left at the server costs at most one event, which is ignored. */
  stop(): void {
    this.#stopped = true;
    this.#handle?.drop();
    this.#handle = null;
  }

  /** Stops listening and takes the registration back at the server too. */
  remove(): void {
    this.#handle?.remove();
    this.#handle = null;
    this.stop();
  }

  protected abstract read(found: NodeData): void;
  protected abstract gone(heardBy: "event" | "read"): void;
  /** The server does not let us read the node, and so will never report its end. */
  protected abstract refused(error: ZooKeeperError): void;
  /** The data of the node was written, and is about to be read again. */
  protected abstract changed(): void;
}
