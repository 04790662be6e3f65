import { type Millis, type NodeVote, ProviderClosedError, type SessionState } from "@holdfast/core";
import type { BackendLink } from "@holdfast/core/internal";
import { quorumError } from "./ballot.js";
import type { VotingNode } from "./voting-node.js";

/** Connected while a majority of the nodes is. */
export class MajorityLink implements BackendLink {
  readonly #nodes: () => readonly VotingNode[];
  readonly #majority: number;
  readonly #onState: (state: SessionState) => void;
  #state: SessionState = "connecting";

  constructor(nodes: () => readonly VotingNode[], majority: number, onState: (state: SessionState) => void) {
    this.#nodes = nodes;
    this.#majority = majority;
    this.#onState = onState;
  }

  get state(): SessionState {
    return this.#state;
  }

  connectionChanged(): void {
    const there = this.#nodes().filter((node) => node.connected).length >= this.#majority;
    const state = there ? "connected" : this.#state === "connecting" ? "connecting" : "suspended";
    if (state === this.#state) return;
    this.#state = state;
    this.#onState(state);
  }

  /** Rejects with `QuorumError` once so many nodes have failed that no majority can come of the others. */
  whenConnected({ waitMs, signal }: { waitMs: Millis; signal?: AbortSignal }): Promise<void> {
    if (this.#state === "connected") return Promise.resolve();
    const nodes = this.#nodes();
    const votes: NodeVote[] = [];
    let there = 0;
    return new Promise((resolve, reject) => {
      for (const { name, line } of nodes) {
        line.whenConnected({ waitMs, ...(signal && { signal }) }).then(
          () => {
            there++;
            votes.push({ node: name, vote: "for", tookMs: 0 });
            if (there >= this.#majority) resolve();
          },
          (error: unknown) => {
            if (signal?.aborted === true || error instanceof ProviderClosedError) {
              reject(error);
              return;
            }
            votes.push({ node: name, vote: "error", tookMs: waitMs, error });
            if (votes.length === nodes.length && there < this.#majority) {
              reject(quorumError("no connection to a majority", undefined, this.#majority, votes));
            }
          },
        );
      }
    });
  }
}
