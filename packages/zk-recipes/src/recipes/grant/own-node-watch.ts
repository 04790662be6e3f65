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
  /** The server has answered: from now on an event reports each change. */
  armed?(): void;
  /** Another client has written to the node, or the server does not let us watch it any more. */
  touched?(): void;
}

/**
 * The watch on a queue node of our own. A waiter arms it and hands it on to its grant. The first read shows what happened
 * before the watch was armed.
 */
export class OwnNodeWatch extends NodeWatch {
  listener: OwnNodeListener;
  /** The revoke message was read, perhaps before the present listener was set. */
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

  /**
   * The server has refused for good: the ACL may not even let the session read its own node. Only the end of the session
   * then ends the grant.
   */
  protected override refused(): void {
    this.changed();
  }

  protected override changed(): void {
    this.touched = true;
    this.listener.touched?.();
  }
}
