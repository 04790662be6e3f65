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
import type { FoundNode } from "../recipes/requests/watched-node.js";
import { isLost, NotConnectedError, saysNodeExists } from "../session/errors.js";
import type { Outcome } from "../session/types.js";
import {
  absentSince,
  checkLasting,
  inDoubt,
  mayStillCome,
  nowOf,
  type SentAt,
  unknown,
} from "../values/conditional-write.js";
import { GateNode } from "./gate-node.js";

const notSent: Outcome<never> = { ok: false, error: new NotConnectedError("a change of a barrier") };

/**
 * Curator's `DistributedBarrier`: shut while the node at its path is there, whichever client made it. The node is
 * persistent, so the barrier stays shut when the client that shut it is gone.
 *
 * A request whose answer was lost is sent again only if the node proves that it was not applied. Otherwise another client
 * may have shut or opened the gate since, and the repeat would undo that.
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
      const sent = await nowOf(context, path);
      if (context.over) return notSent;
      const made = await this.#calls.create(context, this.#call, node);
      if (made.ok) return made;
      const lost = isLost(made.error);
      if (!lost && !saysNodeExists(made.error)) return made;
      const found = lost
        ? await this.#unlessApplied("shut()", made, sent)
        : orAbsent(await outcomeOf(context.session, "exists", { path, watch: false }));
      if (found.ok && found.value !== null) checkLasting(this.#call, found.value.stat);
      return found;
    });
  }

  async open(): Promise<void> {
    const request = { path: this.#call.path, version: -1 };
    await this.#calls.repeat<unknown>(this.#call, async (context) => {
      const sent = await nowOf(context, this.#call.path);
      if (context.over) return notSent;
      const opened = orAbsent(await outcomeOf(context.session, "delete", request));
      if (opened.ok) return opened;
      if (refusalOf(opened.error)?.code === errorCodes.NotEmpty) throw this.#conflict();
      return isLost(opened.error) ? await this.#unlessApplied("open()", opened, sent) : opened;
    });
  }

  /**
   * Looks what became of a request whose answer was lost. Resolves to a success if the gate is as the request was to make
   * it, and to the `lost` outcome, which is repeated, if the request was not applied and never will be. Rejects otherwise.
   */
  async #unlessApplied(
    what: "shut()" | "open()",
    lost: Outcome<never>,
    sent: SentAt,
  ): Promise<Outcome<FoundNode | null>> {
    const calls = this.#calls;
    const call = this.#call;
    const found = await inDoubt(calls, call, what, calls.readSynced(call));
    if (mayStillCome(sent)) throw unknown(calls, call, what);
    if ((found === null) === (what === "open()")) return { ok: true, value: found, zxid: 0n };
    const unchanged =
      found === null
        ? await inDoubt(calls, call, what, absentSince(calls, call, sent.sinceZxid))
        : found.stat.czxid <= sent.sinceZxid;
    if (!unchanged) throw unknown(calls, call, what);
    return lost;
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
