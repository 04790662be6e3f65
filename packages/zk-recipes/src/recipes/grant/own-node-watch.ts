import type { ResponseOf, Stat, WatchEventType } from "@holdfast/zk-protocol";
import { isRevokeMessage } from "../../layout/node-data.js";
import { saysNoNode } from "../../session/errors.js";
import type { Outcome, WatchHandle, WatchListener } from "../../session/types.js";
import { isFinal } from "../session/failures.js";
import type { SessionContext } from "../session/session-context.js";

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
  revokeAsked(): void;
  /** Its read was answered: from now on an event will report each change. */
  armed?(): void;
  /** Another client has written to the node, or the server lets us watch it no more. */
  touched?(): void;
}

/**
 * The watch on a queue node of our own, armed again after each event and each outage. A waiter arms it and hands it on
 * to its grant; the first read finds what happened before it was armed.
 */
export class OwnNodeWatch implements WatchListener<ResponseOf<"getData">> {
  listener: OwnNodeListener;
  /** The revoke message was read, perhaps before the present listener came. */
  revokeSeen = false;
  /** Another client has written to the node, or the server does not let us watch it. */
  touched = false;
  readonly #context: SessionContext;
  readonly #node: OwnNode;
  #handle: WatchHandle | null = null;
  #armedOn = 0;
  #stopped = false;

  constructor(context: SessionContext, node: OwnNode, listener: OwnNodeListener) {
    this.#context = context;
    this.#node = node;
    this.listener = listener;
  }

  /** Answered OK on the present connection and not fired since: an event will report each later end of the node, in order. */
  get trusted(): boolean {
    return this.#handle !== null && this.#armedOn === this.#context.session.connection;
  }

  arm(): void {
    if (this.#handle !== null || this.#stopped) return;
    const { session } = this.#context;
    this.#armedOn = 0;
    this.#handle = session.watchData(this.#node.path, this);
  }

  answered(outcome: Outcome<ResponseOf<"getData">>): void {
    if (this.#stopped) return;
    if (outcome.ok) {
      if (!this.#isOurs(outcome.value.stat)) return this.listener.gone();
      this.#armedOn = this.#context.session.connection;
      if (outcome.value.stat.version > 0) this.#touch();
      this.listener.armed?.();
      if (this.#stopped) return;
      if (isRevokeMessage(outcome.value.data)) {
        this.revokeSeen = true;
        this.listener.revokeAsked();
      }
      return;
    }
    this.#handle = null;
    const { error } = outcome;
    if (saysNoNode(error)) this.listener.gone();
    else if (!isFinal(error)) this.#context.again(error, () => this.arm());
    // Refused for good: the ACL may not even let the session read its own node. Then only the end of the session ends the grant.
    else this.#touch();
  }

  fired(type: WatchEventType): void {
    this.#handle = null;
    if (this.#stopped) return;
    if (type === "deleted") return this.listener.gone();
    this.#touch();
    this.arm();
  }

  #touch(): void {
    this.touched = true;
    this.listener.touched?.();
  }

  /** Stops listening. No request: the node is about to be deleted, and its watch with it. */
  stop(): void {
    this.#stopped = true;
    this.#handle?.drop();
    this.#handle = null;
  }

  #isOurs(stat: Stat): boolean {
    return stat.czxid === this.#node.czxid && stat.ephemeralOwner === this.#context.session.id;
  }
}
