import { type ResponseOf, type WatchEventType, ZooKeeperError } from "@holdfast/zk-protocol";
import { saysNoNode } from "../../session/errors.js";
import type { Outcome, WatchHandle, WatchListener } from "../../session/types.js";
import type { SessionContext } from "../session-context.js";
import { isFinal } from "./failures.js";

export type NodeData = ResponseOf<"getData">;

/**
 * The watch on one queue node. It is armed by getData, so that a node that is already gone leaves no watch behind, or
 * together with others by one request that reads none of the nodes. It is armed again by getData after each change of the
 * data, such as a revoke message, and after each outage.
 */
export abstract class NodeWatch implements WatchListener<NodeData | null> {
  readonly path: string;
  /** The watch has ended: events and answers are ignored. */
  over = false;
  protected readonly context: SessionContext;
  /** The connection over which the present watch is known to be armed; 0 until its request is answered. */
  protected armedOn = 0;
  #handle: WatchHandle | null = null;
  /** The request that is on its way and not answered. */
  #asked: "read" | "unread" | null = null;

  constructor(context: SessionContext, path: string) {
    this.context = context;
    this.path = path;
  }

  /**
   * The watch was armed over the present connection and has not fired since. An event will report each later end of the
   * node, in order.
   */
  get trusted(): boolean {
    return this.#handle !== null && this.armedOn === this.context.session.connection;
  }

  /**
   * Arms those watches that are not armed yet. Several are armed by one request that reads none of the nodes. Changes of
   * a node before `sinceZxid` do not matter.
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

  /**
   * Reads the node of a watch that is armed, and watches on. `false`: the request that arms it, which reads nothing, is
   * not answered yet.
   */
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
    // The refusal is not about this node alone; a read of the node shows more.
    if (asked === "unread" && error instanceof ZooKeeperError) this.arm();
    else if (saysNoNode(error)) this.gone("read");
    else if (isFinal(error)) this.refused(error);
    else this.context.again(error, () => this.arm());
  }

  fired(type: WatchEventType): void {
    this.#handle = null;
    if (this.over) return;
    // An event before the answer: the request itself has found the node gone.
    if (type === "deleted") return this.gone(this.#asked === null ? "event" : "read");
    this.changed();
    this.arm();
  }

  /** Stops listening, without a request. The server may keep the watch; at most one event then comes, and is ignored. */
  stop(): void {
    this.over = true;
    this.#handle?.drop();
    this.#handle = null;
  }

  /** Stops listening, and has the server remove the watch too. */
  remove(): void {
    this.#handle?.remove();
    this.#handle = null;
    this.stop();
  }

  protected abstract read(found: NodeData): void;
  /** The watch was armed by a request that reads nothing. */
  protected armedUnread(): void {}
  protected abstract gone(heardBy: "event" | "read"): void;
  /** The server does not let us read the node, and so will never report its end. */
  protected abstract refused(error: ZooKeeperError): void;
  /** The data of the node was written. The watch is armed again next, which reads the new data. */
  protected changed(): void {}
}
