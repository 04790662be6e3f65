import { BackendError, type Millis, type Runtime } from "@holdfast/core";
import { OutcomeUnknownError } from "@holdfast/redis-recipes/internal";
import type { NodeLock } from "./node-locks.js";
import type { VotingNode } from "./voting-node.js";

export interface WithdrawalSpec {
  readonly runtime: Runtime;
  readonly lock: NodeLock;
  readonly owner: string;
  /** Where something of the owner may be. */
  readonly nodes: readonly VotingNode[];
  /** So many may stay silent. */
  readonly spared: number;
  /** The spared ones are waited for as long as that. */
  readonly nodeTimeoutMs: Millis;
  /** Then nothing of the owner can be left on any of them. */
  readonly endMs: Millis;
}

const pauseMs: Millis = 50;

/** An owner's last request to each node, repeated until it is answered or its lease is over. */
export class Withdrawal {
  /** What the nodes have said so far: whether the owner's vote was there. */
  readonly found: Map<VotingNode, boolean> = new Map();
  /** Nothing is left that could stand in anybody's way; the rest goes on by itself. Never rejects. */
  readonly done: Promise<void>;
  readonly #spec: WithdrawalSpec;

  constructor(spec: WithdrawalSpec) {
    this.#spec = spec;
    const { runtime, nodes, spared, nodeTimeoutMs } = spec;
    let open = nodes.length;
    let patient = true;
    this.done = new Promise((resolve) => {
      const look = (): void => {
        if (open > (patient ? 0 : spared)) return;
        cancel();
        resolve();
      };
      const cancel = runtime.setTimer(nodeTimeoutMs, () => {
        patient = false;
        look();
      });
      for (const node of nodes) {
        void this.#end(node).then(() => {
          open--;
          look();
        });
      }
      look();
    });
  }

  async #end(node: VotingNode): Promise<void> {
    const { lock, owner, endMs, runtime } = this.#spec;
    let repeated = false;
    while (!node.line.closed) {
      try {
        const { reply } = await lock.release(node, owner);
        this.found.set(node, reply.status !== "gone" || repeated);
        return;
      } catch (error) {
        // One that was sent and not answered may have ended it. Refusals that do not pass leave it to its lease.
        if (error instanceof OutcomeUnknownError) repeated = true;
        if (!(error instanceof BackendError && error.retryable)) return;
      }
      const leftMs = endMs - runtime.nowMs();
      if (leftMs <= 0) return;
      if (!node.connected) {
        // It says itself when it is back; that it is not is no news here.
        await node.line.whenConnected({ waitMs: leftMs }).catch(() => {});
      }
      await new Promise<void>((resolve) => runtime.setTimer(pauseMs, resolve));
    }
  }
}
