import type { Millis, Runtime } from "@holdfast/core";
import { grantChannel, parseGrantMessage, type Subscription } from "@holdfast/redis-recipes/internal";
import type { VotingNode } from "./voting-node.js";

export interface OwnMessages {
  /** Somebody asks this owner to let go. */
  revokeAsked(owner: string): void;
  /** The owner's vote on this node was ended by force. */
  stolen(owner: string, node: VotingNode): void;
}

/** The channel of one provider, on each of its nodes: what other clients of ours have to tell its holders. */
export class OwnChannel {
  readonly #runtime: Runtime;
  readonly #channel: string;
  readonly #nodes: readonly VotingNode[];
  readonly #messages: OwnMessages;
  #subscriptions: readonly Subscription[] | undefined;

  constructor(runtime: Runtime, uuid: string, nodes: readonly VotingNode[], messages: OwnMessages) {
    this.#runtime = runtime;
    this.#channel = grantChannel(uuid);
    this.#nodes = nodes;
    this.#messages = messages;
  }

  /** From the first request on. */
  listen(): void {
    this.#subscriptions ??= this.#nodes.map((node) => {
      const subscription = node.line.subscribe(this.#channel, "plain", (text) => this.#heard(node, text));
      // Messages are hints: what a node cannot say, the next extension finds.
      subscription.ready.catch(() => {});
      return subscription;
    });
  }

  /** Until all nodes can be heard, or for so long: a wish that nobody hears is not said again. */
  async heard(waitMs: Millis): Promise<void> {
    const all = Promise.allSettled((this.#subscriptions ?? []).map(({ ready }) => ready));
    await new Promise<void>((resolve) => {
      const cancel = this.#runtime.setTimer(waitMs, resolve, { ref: true });
      void all.then(() => {
        cancel();
        resolve();
      });
    });
  }

  #heard(node: VotingNode, text: string): void {
    const message = parseGrantMessage(text);
    if (message?.type === "revoke") this.#messages.revokeAsked(message.owner);
    else if (message?.type === "stolen") this.#messages.stolen(message.owner, node);
  }
}
