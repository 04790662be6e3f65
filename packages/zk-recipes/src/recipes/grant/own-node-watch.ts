import { isRevokeMessage } from "../../layout/node-data.js";
import { type NodeData, NodeWatch } from "../session/node-watch.js";
import type { SessionContext } from "../session-context.js";

export interface OwnNode {
  readonly path: string;
  readonly name: string;
  readonly czxid: bigint;
}

/** What the watch on the own node reports. */
export interface OwnNodeListener {
  /** The node is gone, or is not the one that we made. */
  gone(): void;
  /** Another client wrote Curator's revoke message into it. */
  revokeAsked?(): void;
  /** The server has answered: from now on an event will report each change. */
  armed?(): void;
  /** Another client has written to the node, or the server lets us watch it no more. */
  touched?(): void;
}

/**
 * The watch on a queue node of our own. A waiter arms it and hands it on to its grant; the first read finds what happened before
 * it was armed.
 */
export class OwnNodeWatch extends NodeWatch {
  listener: OwnNodeListener;
  /** The revoke message was read, perhaps before the present listener came. */
  revokeSeen = false;
  /** Another client has written to the node, or the server does not let us watch it. */
  touched = false;
  readonly #czxid: bigint;

  constructor(context: SessionContext, { path, czxid }: OwnNode, listener: OwnNodeListener) {
    super(context, path);
    this.#czxid = czxid;
    this.listener = listener;
  }

  protected override read({ stat, data }: NodeData): void {
    const { session } = this.context;
    if (stat.czxid !== this.#czxid || stat.ephemeralOwner !== session.id) return this.gone();
    this.armedOn = session.connection;
    if (stat.version > 0) this.changed();
    this.listener.armed?.();
    if (this.over || !isRevokeMessage(data)) return;
    this.revokeSeen = true;
    this.listener.revokeAsked?.();
  }

  protected override armedUnread(): void {
    this.armedOn = this.context.session.connection;
    this.listener.armed?.();
  }

  protected override gone(): void {
    this.listener.gone();
  }

  /** Refused for good: the ACL may not even let the session read its own node. Then only the end of the session ends the grant. */
  protected override refused(): void {
    this.changed();
  }

  protected override changed(): void {
    this.touched = true;
    this.listener.touched?.();
  }
}
