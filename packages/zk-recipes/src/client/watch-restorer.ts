import type { Runtime } from "@holdfast/core";
import { inSlices } from "@holdfast/core/internal";
import { type ReplyHeader, type SetWatchesRequest, ZooKeeperError } from "@holdfast/zk-protocol";
import { askAgainMs, isPassingCode } from "./passing.js";
import { setWatchesPieces, type WatchedPaths } from "./set-watches.js";

/** How often pieces are sent again on one connection: for five seconds, if there is one piece. */
const mostAsks = 20;

/** What the restorer needs of its link. */
export interface RestoreContext {
  /** `answered` does not run if the answer never comes: `reset()` follows before the next connection. */
  setWatches(request: SetWatchesRequest, answered: (header: ReplyHeader) => void): void;
  /** The watches are not in place: the connection is of no use. */
  failed(error: Error): void;
}

/**
 * Restores the watches of the last connection on a new one. It also knows since which zxid the watches may have missed a
 * change: the last zxid seen while every watch was in place. If the connection breaks between two pieces, that is still
 * the zxid from before the first piece.
 *
 * A piece that a busy server refuses is sent again on the same connection. A new connection would only make that server
 * busier, and would end the requests that are on their way. A server that goes on refusing is left, because without its
 * watches the session misses what it waits for.
 */
export class WatchRestorer {
  readonly #context: RestoreContext;
  /** The zxid since when watches are missing at the server; `null` while all are in place. */
  #missingSince: bigint | null = null;
  /** The number of pieces without an answer, plus one while more are still to be sent. */
  #piecesOut = 0;
  /** Counts the connections. */
  #round = 0;
  readonly #clock: Pick<Runtime, "nowMs" | "setTimer">;

  constructor(context: RestoreContext, clock: Pick<Runtime, "nowMs" | "setTimer">) {
    this.#context = context;
    this.#clock = clock;
  }

  /**
   * `lastZxid`: the latest zxid that a server has sent. `sent` is called when all pieces were sent, unless the connection
   * ended before that.
   */
  restore(paths: WatchedPaths, lastZxid: bigint, sent: () => void): void {
    const round = ++this.#round;
    const sinceZxid = this.#missingSince ?? lastZxid;
    this.#missingSince = sinceZxid;
    this.#piecesOut = 1;
    let asksLeft = mostAsks;
    const ask = (piece: SetWatchesRequest): void => {
      if (round === this.#round) this.#context.setWatches(piece, (header) => answered(piece, header));
    };
    const answered = (piece: SetWatchesRequest, { err }: ReplyHeader): void => {
      if (err === 0) this.#settled();
      else if (isPassingCode(err) && --asksLeft > 0) this.#clock.setTimer(askAgainMs, () => ask(piece));
      // Without its watch a waiter would never be woken.
      else this.#context.failed(new ZooKeeperError(err, { op: "setWatches" }));
    };
    const send = (piece: SetWatchesRequest): void => {
      if (round !== this.#round) return;
      this.#piecesOut += 1;
      ask(piece);
    };
    inSlices(this.#clock, setWatchesPieces(paths, sinceZxid), send, () => {
      if (round !== this.#round) return;
      this.#settled();
      sent();
    });
  }

  /** The connection ended. Pieces on their way will not be answered. */
  reset(): void {
    this.#round++;
    this.#piecesOut = 0;
  }

  #settled(): void {
    this.#piecesOut -= 1;
    if (this.#piecesOut === 0) this.#missingSince = null;
  }
}
