import { type ResponseOf, type WatchEventType, ZooKeeperError } from "@holdfast/zk-protocol";
import { saysNoNode } from "../../session/errors.js";
import type { Outcome, WatchHandle, WatchListener } from "../../session/types.js";
import type { SessionContext } from "../session-context.js";
import { isFinal } from "./failures.js";

export type NodeData = ResponseOf<"getData">;

/**
 * The watch on one queue node: by getData, so that a node that is already gone leaves no watch behind, or with others by one request that
 * reads none. It is armed again by getData after each change of the data, such as a revoke message, and after each outage.
 */
export abstract class NodeWatch implements WatchListener<NodeData | null> {
  readonly path: string;
  /** Nothing is listened to any more. */
  over = false;
  protected readonly context: SessionContext;
  /** The connection over which the present watch is known to count; 0 until its read is answered. */
  protected armedOn = 0;
  #handle: WatchHandle | null = null;
  /** What is on its way and not answered. */
  #asked: "read" | "unread" | null = null;

  constructor(context: SessionContext, path: string) {
    this.context = context;
    this.path = path;
  }

  /** Answered OK on the present connection and not fired since: an event will report each later end of the node, in order. */
  get trusted(): boolean {
    return this.#handle !== null && this.armedOn === this.context.session.connection;
  }

  /**
   * Arms those that are not armed yet, by one request that reads none of them where there are several. `sinceZxid`: of a moment before
   * which no change of a node matters.
   */
  static armAll(context: SessionContext, watches: readonly NodeWatch[], sinceZxid: bigint): void {
    const idle = watches.filter((watch) => !watch.over && watch.#handle === null);
    if (idle.length < 2) return idle[0]?.arm();
    for (const watch of idle) watch.#begin("unread");
    const unread = idle.map((watch) => ({ path: watch.path, listener: watch }));
    const handles = context.session.watchUnread(unread, sinceZxid);
    for (const [i, watch] of idle.entries()) watch.#handle = handles[i] as WatchHandle;
  }

  arm(): void {
    if (this.over || this.#handle !== null) return;
    this.#begin("read");
    this.#handle = this.context.session.watchData(this.path, this);
  }

  /** Reads the node of a watch that is armed, and watches on. `false`: the request that arms it is not answered yet, and reads nothing. */
  readNow(): boolean {
    if (this.#handle === null || this.#asked !== null) return this.over || this.#asked !== "unread";
    this.#handle.drop();
    this.#handle = null;
    this.arm();
    return true;
  }

  #begin(how: "read" | "unread"): void {
    this.armedOn = 0;
    this.#asked = how;
  }

  answered(outcome: Outcome<NodeData | null>): void {
    if (this.over) return;
    const asked = this.#asked;
    this.#asked = null;
    if (outcome.ok) return outcome.value === null ? this.armedUnread() : this.read(outcome.value);
    this.#handle = null;
    const { error } = outcome;
    // The server says nothing of this node alone: a read will.
    if (asked === "unread" && error instanceof ZooKeeperError) this.arm();
    else if (saysNoNode(error)) this.gone("read");
    else if (isFinal(error)) this.refused(error);
    else this.context.again(error, () => this.arm());
  }

  fired(type: WatchEventType): void {
    this.#handle = null;
    if (this.over) return;
    // In front of the answer: the request has found the node gone.
    if (type === "deleted") return this.gone(this.#asked === null ? "event" : "read");
    this.changed();
    this.arm();
  }

  /** Stops listening without a request. A registration that is left at the server costs at most one event, which is ignored. */
  stop(): void {
    this.over = true;
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
  /** Answered by a request that reads nothing. */
  protected armedUnread(): void {}
  protected abstract gone(heardBy: "event" | "read"): void;
  /** The server does not let us read the node, and so will never report its end. */
  protected abstract refused(error: ZooKeeperError): void;
  /** The data of the node was written, and is about to be read again. */
  protected changed(): void {}
}
