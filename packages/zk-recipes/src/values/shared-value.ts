import { InvalidArgumentError } from "@holdfast/core";
import { backendCall, checkSignal, type ObservedSource, observeLatest, show } from "@holdfast/core/internal";
import type { ResponseOf, Stat } from "@holdfast/zk-protocol";
import { decodeInt, encodeInt } from "../layout/numbers.js";
import {
  type CallInfo,
  orAbsent,
  outcomeOf,
  type RetryingRequests,
} from "../recipes/requests/retrying-requests.js";
import { type FoundNode, WatchedNode } from "../recipes/requests/watched-node.js";
import type { SessionContext } from "../recipes/session-context.js";
import { saysNodeExists } from "../session/errors.js";
import type { Outcome } from "../session/types.js";
import type { SharedValue, Versioned } from "./api.js";
import { conditionalWrite, forcedWrite } from "./conditional-write.js";

/**
 * Converts values of one kind to bytes and back. `encode` throws `InvalidArgumentError`, `decode` throws
 * `LayoutConflictError`.
 */
export interface ValueCodec<T> {
  encode(what: string, value: T): Uint8Array;
  decode(path: string, data: Uint8Array | null): T;
}

export const countCodec: ValueCodec<number> = {
  encode(what, value) {
    if (Number.isInteger(value) && value === (value | 0)) return encodeInt(value);
    throw new InvalidArgumentError(`${what} must be a whole number of 32 bits; got ${show(value)}`);
  },
  decode: decodeInt,
};

export const bytesCodec: ValueCodec<Uint8Array> = {
  encode(what, value) {
    if (value instanceof Uint8Array) return Uint8Array.from(value);
    throw new InvalidArgumentError(`${what} must be a Uint8Array; got ${show(value)}`);
  },
  decode: (_path, data) => Uint8Array.from(data ?? []),
};

/** Whether the node was written last before `version`, or does not exist. */
function isOlder(found: FoundNode | null, version: bigint): boolean {
  return found === null || found.stat.mzxid < version;
}

/**
 * Curator's `SharedValue`, and `SharedCount` with four bytes. The node is persistent and is made when it is first needed;
 * the first seed counts. The version is the zxid of the last write (mzxid), by which Curator 5.7.0 and later finds the
 * newest value.
 */
export class SharedValueView<T> implements SharedValue<T> {
  readonly name: string;
  readonly #calls: RetryingRequests;
  readonly #call: CallInfo;
  readonly #seed: Uint8Array;
  readonly #codec: ValueCodec<T>;
  /** The `Stat` of the node, as this view has seen it last. */
  #known: Stat | null = null;

  constructor(calls: RetryingRequests, name: string, seed: Uint8Array, codec: ValueCodec<T>) {
    this.name = name;
    this.#calls = calls;
    this.#call = { lockName: name, path: calls.pathOf(name), patient: false };
    this.#seed = seed;
    this.#codec = codec;
  }

  async get(): Promise<Versioned<T>> {
    return await this.#run(async () => {
      const found = (await this.#calls.read(this.#call)) ?? (await this.#plant());
      return this.#versioned(found);
    });
  }

  async set(value: T): Promise<void> {
    const data = this.#codec.encode("set: value", value);
    await this.#run(async () => {
      this.#known = await forcedWrite(this.#calls, this.#call, this.#known, data);
    });
  }

  /**
   * Reads before it writes. A server compares only the node's count of writes, which starts again with a new node, so the
   * write alone could hit a node that was made since. It takes two round trips, or one if the version has changed. A
   * server that shows an older state than `seen` lags behind, and is asked again behind a `sync`.
   */
  async trySet(seen: Versioned<T>, value: T): Promise<boolean> {
    const data = this.#codec.encode("trySet: value", value);
    if (typeof seen?.version !== "bigint") {
      throw new InvalidArgumentError(`trySet: seen must be what get() or observe() gave; got ${show(seen)}`);
    }
    return await this.#run(() =>
      this.#calls.inTurn(this.#call, async () => {
        let found = await this.#calls.read(this.#call);
        if (isOlder(found, seen.version)) found = await this.#calls.readSynced(this.#call);
        if (found === null || found.stat.mzxid !== seen.version) return false;
        const written = await conditionalWrite(this.#calls, this.#call, found.stat, data, "trySet");
        if (written !== null) this.#known = written;
        return written !== null;
      }),
    );
  }

  observe(options: { signal?: AbortSignal } = {}): AsyncIterable<Versioned<T>> {
    checkSignal("observe: signal", options.signal);
    const { engine } = this.#calls;
    if (engine.closed) throw engine.closedError(this.name);
    return observeLatest(engine, () => this.#observed(options.signal));
  }

  /** What one iterator reads, with a watch of its own. */
  #observed(signal: AbortSignal | undefined): ObservedSource<Versioned<T>> {
    const { sessions } = this.#calls;
    const node = new WatchedNode(this.#calls, this.name, this.#call.path);
    let newest = 0n;
    /** The session on which a write older than `newest` was read again behind a `sync`. */
    let synced: SessionContext | null = null;
    return {
      name: this.name,
      signal,
      subscribe: (changed) => node.subscribe(changed),
      read: async () => {
        for (;;) {
          const { context } = sessions;
          const found = await node.read();
          if (found === null) await this.#plant();
          else if (isOlder(found, newest) && synced !== context) {
            // Either the server of a new session lags behind, or the ensemble was restored and its zxid has fallen. The
            // leader shows which.
            await this.#calls.readSynced({ ...this.#call, patient: true });
            synced = context;
          } else {
            newest = found.stat.mzxid;
            return this.#versioned(found);
          }
        }
      },
      same: (last, now) => now.version === last.version,
    };
  }

  #versioned({ data, stat }: FoundNode): Versioned<T> {
    this.#known = stat;
    return { value: this.#codec.decode(this.#call.path, data), version: stat.mzxid };
  }

  /** Makes the node with the seed, unless another client was faster, and reads the node, in one flight. */
  async #plant(): Promise<FoundNode> {
    const { path } = this.#call;
    for (;;) {
      const found = await this.#calls.repeat(this.#call, async (context) => {
        const behind: { read: Promise<Outcome<ResponseOf<"getData">>> | null } = { read: null };
        const node = { path, data: this.#seed, ephemeral: false };
        const made = await this.#calls.create(context, this.#call, node, () => {
          behind.read = outcomeOf(context.session, "getData", { path, watch: false });
        });
        if (!made.ok && !saysNodeExists(made.error)) return made;
        return orAbsent(await (behind.read as Promise<Outcome<ResponseOf<"getData">>>));
      });
      if (found !== null) return found;
    }
  }

  #run<R>(work: () => Promise<R>): Promise<R> {
    return backendCall(this.#calls.engine, this.name, work);
  }
}
