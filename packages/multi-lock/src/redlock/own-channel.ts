import type { Millis, Runtime } from "@holdfast/core";
import { settledWithin } from "@holdfast/core/internal";
import { grantChannel, parseGrantMessage, type Subscription } from "@holdfast/redis-recipes/internal";
import type { VotingNode } from "./voting-node.js";

type OwnMessage = NonNullable<ReturnType<typeof parseGrantMessage>>;

/** The channel of one provider, on each of its nodes, on which other clients send messages to its holders. */
export class OwnChannel {
  readonly #runtime: Runtime;
  readonly #channel: string;
  readonly #nodes: readonly VotingNode[];
  readonly #heard: (message: OwnMessage, node: VotingNode) => void;
  #subscriptions: readonly Subscription[] = [];

  constructor(
    runtime: Runtime,
    uuid: string,
    nodes: readonly VotingNode[],
    heard: (message: OwnMessage, node: VotingNode) => void,
  ) {
    this.#runtime = runtime;
    this.#channel = grantChannel(uuid);
    this.#nodes = nodes;
    this.#heard = heard;
  }

  /** Subscribes with the first request. */
  listen(): void {
    if (this.#subscriptions.length > 0) return;
    this.#subscriptions = this.#nodes.map((node) =>
      node.listen(this.#channel, "plain", (text) => {
        const message = parseGrantMessage(text);
        if (message !== null) this.#heard(message, node);
      }),
    );
  }

  /** Resolves when all nodes can be heard, or after so long: a request to let go that comes before is not repeated. */
  async heard(waitMs: Millis): Promise<void> {
    const subscribed = Promise.allSettled(this.#subscriptions.map(({ ready }) => ready));
    await settledWithin(this.#runtime, subscribed, waitMs, { ref: true });
  }
}
