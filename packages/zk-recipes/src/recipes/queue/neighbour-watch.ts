import type { ResponseOf, WatchEventType, ZooKeeperError } from "@holdfast/zk-protocol";
import { saysNoNode } from "../../session/errors.js";
import type { Outcome, WatchHandle, WatchListener } from "../../session/types.js";
import { isFinal } from "../session/failures.js";
import type { SessionContext } from "../session/session-context.js";

/** One of the two is called, once at most. */
export interface NeighbourListener {
  aheadGone(watch: NeighbourWatch, heardBy: "event" | "read"): void;
  /** The server does not let us read the node, and so will never report its end. */
  aheadRefused(watch: NeighbourWatch, error: ZooKeeperError): void;
}

/**
 * The watch on a node ahead of us in the queue: getData, so that a node that is already gone leaves no watch behind.
 * Armed again after a data change (a revoke message to that node) and after an outage.
 */
export class NeighbourWatch implements WatchListener<ResponseOf<"getData">> {
  readonly path: string;
  readonly name: string;
  /** Session that owns the node, once the read was answered. */
  owner: bigint | null = null;
  readonly #context: SessionContext;
  readonly #listener: NeighbourListener;
  #handle: WatchHandle | null = null;
  #stopped = false;

  constructor(context: SessionContext, path: string, name: string, listener: NeighbourListener) {
    this.#context = context;
    this.path = path;
    this.name = name;
    this.#listener = listener;
  }

  /** Gone, or no longer listened to. */
  get over(): boolean {
    return this.#stopped;
  }

  arm(): void {
    if (this.#stopped || this.#handle !== null) return;
    this.#handle = this.#context.session.watchData(this.path, this);
  }

  answered(outcome: Outcome<ResponseOf<"getData">>): void {
    if (this.#stopped) return;
    if (outcome.ok) {
      this.owner = outcome.value.stat.ephemeralOwner;
      return;
    }
    this.#handle = null;
    const { error } = outcome;
    if (saysNoNode(error)) return this.#tellGone("read");
    if (!isFinal(error)) return this.#context.again(error, () => this.arm());
    this.#stopped = true;
    this.#listener.aheadRefused(this, error);
  }

  fired(type: WatchEventType): void {
    this.#handle = null;
    if (this.#stopped) return;
    if (type === "deleted") this.#tellGone("event");
    else this.arm();
  }

  /** Stops listening; a registration left at the server costs at most one event that is ignored. */
  drop(): void {
    this.#stopped = true;
    this.#handle?.drop();
    this.#handle = null;
  }

  /** Stops listening and takes the registration back at the server too. */
  remove(): void {
    this.#stopped = true;
    this.#handle?.remove();
    this.#handle = null;
  }

  #tellGone(heardBy: "event" | "read"): void {
    this.#stopped = true;
    this.#listener.aheadGone(this, heardBy);
  }
}
