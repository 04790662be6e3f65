import { LayoutConflictError } from "@holdfast/core";
import type { BarrierStore } from "@holdfast/core/internal";
import { errorCodes } from "@holdfast/zk-protocol";
import {
  type CallInfo,
  orAbsent,
  outcomeOf,
  type RetryingRequests,
  refusalOf,
} from "../recipes/requests/retrying-requests.js";
import { saysNodeExists } from "../session/errors.js";
import { checkLasting } from "../values/conditional-write.js";
import { GateNode } from "./gate-node.js";

/**
 * Curator's `DistributedBarrier`: shut while the node at its path is there, whichever client made it. The node is
 * persistent, so the barrier stays shut when the client that shut it is gone. A request whose answer was lost is sent
 * again, since opening or shutting twice has the effect of once.
 */
export class ZooKeeperBarrier implements BarrierStore {
  readonly #calls: RetryingRequests;
  readonly #call: CallInfo;
  readonly #node: GateNode;
  readonly #data: Uint8Array;

  /** `data` describes the client that makes the node, for people who look at it. No client reads it. */
  constructor(calls: RetryingRequests, name: string, data: Uint8Array) {
    this.#calls = calls;
    this.#call = { lockName: name, path: calls.pathOf(name), patient: false };
    this.#node = new GateNode(calls, this.#call, (found) => found !== null);
    this.#data = data;
  }

  async shut(): Promise<void> {
    const { path } = this.#call;
    const node = { path, data: this.#data, ephemeral: false };
    await this.#calls.repeat<unknown>(this.#call, async (context) => {
      const made = await this.#calls.create(context, this.#call, node);
      if (made.ok || !saysNodeExists(made.error)) return made;
      const found = orAbsent(await outcomeOf(context.session, "exists", { path, watch: false }));
      if (found.ok && found.value !== null) checkLasting(this.#call, found.value.stat);
      return found;
    });
  }

  async open(): Promise<void> {
    const request = { path: this.#call.path, version: -1 };
    await this.#calls.repeat<unknown>(this.#call, async ({ session }) => {
      const opened = orAbsent(await outcomeOf(session, "delete", request));
      const refusal = opened.ok ? null : refusalOf(opened.error);
      if (refusal?.code === errorCodes.NotEmpty) throw this.#conflict();
      return opened;
    });
  }

  get answered(): boolean {
    return this.#node.answered;
  }

  subscribe(changed: () => void): () => void {
    return this.#node.subscribe(changed);
  }

  async read(): Promise<boolean> {
    return (await this.#node.read()) !== null;
  }

  #conflict(): LayoutConflictError {
    const { lockName, path } = this.#call;
    return new LayoutConflictError(
      `${path} has children, so it is the path of a lock, or above one, and no barrier that could be opened`,
      { lockName, backend: "zookeeper" },
    );
  }
}
