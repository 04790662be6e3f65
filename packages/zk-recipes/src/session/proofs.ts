import type { Millis } from "@holdfast/core";
import { errorCodes, isWrite, type OpName, type ReplyHeader } from "@holdfast/zk-protocol";

/**
 * Answers that the leader's pipeline must have made. Others (a throttled or malformed request) may come from a server that
 * knows nothing of the session's end.
 */
const leaderCodes: ReadonlySet<number> = new Set([
  errorCodes.Ok,
  errorCodes.NoNode,
  errorCodes.NoAuth,
  errorCodes.BadVersion,
  errorCodes.NoChildrenForEphemerals,
  errorCodes.NodeExists,
  errorCodes.NotEmpty,
]);

/**
 * Which requests prove that the session lives at the leader, and which of them are on their way. With `quorum`, a leader's own
 * word is not enough: one that lost its followers a moment ago goes on answering `sync` and greeting old sessions by itself.
 */
export class Proofs {
  readonly quorum: boolean;
  #inFlight = 0;
  #sentAtMs: Millis = -Infinity;

  constructor(quorum: boolean) {
    this.quorum = quorum;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** When the last one left, answered or not. */
  get sentAtMs(): Millis {
    return this.#sentAtMs;
  }

  sent(op: OpName, atMs: Millis): void {
    if (!isProof(op)) return;
    this.#inFlight += 1;
    this.#sentAtMs = atMs;
  }

  /** Whether this answer proves the lease. */
  answered(op: OpName, header: ReplyHeader): boolean {
    if (!isProof(op)) return false;
    this.#inFlight -= 1;
    return op === "sync" ? !this.quorum && header.err === errorCodes.Ok : leaderCodes.has(header.err);
  }

  /** The connection ended; nothing more comes of what was on its way. */
  reset(): void {
    this.#inFlight = 0;
  }
}

function isProof(op: OpName): boolean {
  return op === "sync" || isWrite(op);
}
