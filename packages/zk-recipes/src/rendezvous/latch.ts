import type { LatchStore } from "@holdfast/core/internal";
import { decodeInt, encodeInt } from "../layout/numbers.js";
import type { CallInfo, RetryingRequests } from "../recipes/requests/retrying-requests.js";
import type { FoundNode } from "../recipes/requests/watched-node.js";
import { update } from "../values/counter.js";
import { GateNode } from "./gate-node.js";

/**
 * A count-down latch, which Curator does not have. The layout is ours: one persistent node at the latch's path. Its data
 * is the count: 4 bytes, big-endian, signed. It is written only if the node still has the version that was read. So Java
 * can read the count, and lower it, by a `SharedCount` of the same path. A missing node counts as 0, and so does a
 * negative count.
 */
export class ZooKeeperLatch implements LatchStore {
  readonly #calls: RetryingRequests;
  readonly #call: CallInfo;
  readonly #node: GateNode;

  constructor(calls: RetryingRequests, name: string) {
    this.#calls = calls;
    this.#call = { lockName: name, path: calls.pathOf(name), patient: false };
    this.#node = new GateNode(calls, this.#call, (found) => this.#countIn(found) > 0);
  }

  async trySetCount(count: number): Promise<boolean> {
    let above = false;
    await update(this.#calls, this.#call, `trySetCount(${count})`, (data, there) => {
      above = this.#countOf(there ? data : undefined) > 0;
      return above ? null : encodeInt(count);
    });
    return !above;
  }

  async countDown(by: number): Promise<number> {
    let left = 0;
    await update(this.#calls, this.#call, `countDown(${by})`, (data, there) => {
      const before = this.#countOf(there ? data : undefined);
      left = Math.max(0, before - by);
      return before === 0 ? null : encodeInt(left);
    });
    return left;
  }

  async count(): Promise<number> {
    return this.#countIn(await this.#calls.read(this.#call));
  }

  get answered(): boolean {
    return this.#node.answered;
  }

  subscribe(changed: () => void): () => void {
    return this.#node.subscribe(changed);
  }

  async read(): Promise<number> {
    return this.#countIn(await this.#node.read());
  }

  #countIn(found: FoundNode | null): number {
    return this.#countOf(found === null ? undefined : found.data);
  }

  #countOf(data: Uint8Array | null | undefined): number {
    return data === undefined ? 0 : Math.max(0, decodeInt(this.#call.path, data));
  }
}
