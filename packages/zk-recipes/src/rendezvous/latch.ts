import type { LatchStore } from "@holdfast/core/internal";
import { decodeInt, encodeInt } from "../layout/numbers.js";
import type { CallInfo, RetryingRequests } from "../recipes/requests/retrying-requests.js";
import { type FoundNode, WatchedNode } from "../recipes/requests/watched-node.js";
import type { SessionContext } from "../recipes/session-context.js";
import { update } from "../values/counter.js";

/**
 * A countdown latch, which Curator does not have. The layout is ours: one persistent node at the latch's path whose data
 * is the count, 4 bytes, big-endian, signed, written only under the version that was read. So Java can read it, and
 * take it down, by a `SharedCount` of the same path. No node is a count of 0, and so is a count below.
 */
export class ZooKeeperLatch implements LatchStore {
  readonly #calls: RetryingRequests;
  readonly #call: CallInfo;
  readonly #node: WatchedNode;
  /** On this session a count above 0 was read since the last wait began, so that a 0 which is read behind it is no older one. */
  #sawAboveOn: SessionContext | null = null;

  constructor(calls: RetryingRequests, name: string) {
    this.#calls = calls;
    this.#call = { lockName: name, path: calls.pathOf(name), patient: false };
    this.#node = new WatchedNode(calls, name, this.#call.path);
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
    this.#sawAboveOn = null;
    return this.#node.subscribe(changed);
  }

  /** A server that lags may show that a latch is not set yet: the first 0 counts once the server has caught up. */
  async read(): Promise<number> {
    const { context } = this.#calls.sessions;
    const count = this.#countIn(await this.#node.read());
    if (count > 0) this.#sawAboveOn = context;
    const sure = this.#sawAboveOn === context && context === this.#calls.sessions.context;
    if (count > 0 || sure) return count;
    const synced = await this.#calls.readSynced({ ...this.#call, patient: true });
    if (this.#countIn(synced) === 0) return count;
    return this.#countIn(await this.#node.read());
  }

  #countIn(found: FoundNode | null): number {
    return this.#countOf(found === null ? undefined : found.data);
  }

  #countOf(data: Uint8Array | null | undefined): number {
    return data === undefined ? 0 : Math.max(0, decodeInt(this.#call.path, data));
  }
}
