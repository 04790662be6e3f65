import type { Runtime } from "@holdfast/core";
import { inSlices } from "@holdfast/core/internal";
import { type ReplyHeader, type SetWatchesRequest, ZooKeeperError } from "@holdfast/zk-protocol";
import { setWatchesPieces, type WatchedPaths } from "./set-watches.js";

/** What the restorer does through its link. */
export interface RestoreContext {
  /** `answered` does not run for an answer that never comes: the next connection starts with `reset()`. */
  setWatches(request: SetWatchesRequest, answered: (header: ReplyHeader) => void): void;
  /** Watches are not in place: the connection is of no use. */
  failed(error: Error): void;
}

/**
 * Puts the watches of the last connection on a new one, and knows from which zxid on they may have missed something. That is the
 * last one seen while every watch was in place: after a cut between two pieces it is still the one from before the first.
 */
export class WatchRestorer {
  readonly #context: RestoreContext;
  /** Set while watches are missing at the server. */
  #missingSince: bigint | null = null;
  /** Not answered yet, and one more while there are others to send. */
  #piecesOut = 0;
  /** Counts the connections. */
  #round = 0;
  readonly #clock: Pick<Runtime, "nowMs">;

  constructor(context: RestoreContext, clock: Pick<Runtime, "nowMs">) {
    this.#context = context;
    this.#clock = clock;
  }

  /** `lastZxid`: the latest zxid that a server has sent. `sent`: called when all are on their way, over the connection that is there now. */
  restore(paths: WatchedPaths, lastZxid: bigint, sent: () => void): void {
    const round = ++this.#round;
    const sinceZxid = this.#missingSince ?? lastZxid;
    this.#missingSince = sinceZxid;
    this.#piecesOut = 1;
    const send = (piece: SetWatchesRequest): void => {
      if (round !== this.#round) return;
      this.#piecesOut += 1;
      this.#context.setWatches(piece, (header) => this.#restored(header));
    };
    inSlices(this.#clock, setWatchesPieces(paths, sinceZxid), send, () => {
      if (round !== this.#round) return;
      this.#settled();
      sent();
    });
  }

  /** The connection ended, with whatever pieces were on their way. */
  reset(): void {
    this.#round++;
    this.#piecesOut = 0;
  }

  #restored({ err }: ReplyHeader): void {
    if (err !== 0) {
      // Without its watch a waiter would sleep for ever.
      this.#context.failed(new ZooKeeperError(err, { op: "setWatches" }));
      return;
    }
    this.#settled();
  }

  #settled(): void {
    this.#piecesOut -= 1;
    if (this.#piecesOut === 0) this.#missingSince = null;
  }
}
