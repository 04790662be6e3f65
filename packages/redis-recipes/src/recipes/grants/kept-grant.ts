import type { FencingToken, Millis } from "@holdfast/core";
import type { KeepingState } from "@holdfast/core/driver";
import { mostReserved, type ProveAnswer } from "../../scripts/mutex/prove.js";
import type { Hearing } from "../queue/grant-channel.js";
import type { BatchAnswer } from "../requests/batches.js";
import type { Held } from "./holds.js";
import type { KeptGrants, Proven } from "./kept-grants.js";

/** The answer of a proof, and when its request was sent. */
export type Proof = BatchAnswer<Extract<ProveAnswer, { readonly status: "renewed" }>>;

/** A grant, as far as its keeping needs to know it. */
export interface Provable extends Pick<Held, "slot" | "ended" | "runId" | "token" | "validUntilMs"> {
  readonly spec: Held["spec"] & {
    readonly leaseMs: Millis;
    readonly found: { readonly runId: string; readonly untilMs: Millis };
  };
  /** The value of `KeptGrants.hearing` at the grant. */
  readonly hearing: Hearing | null;
  /** Resolves with `null` when the hold is gone, which was reported by then. Rejects as a renewal does. */
  askProof(reserves: boolean): Promise<Proof | null>;
}

/**
 * A kept grant with less than this share of its lease left is not lent, since the next owner would get a hold that is about to
 * end. With `acks`, the lease that the replicas have counts.
 */
const leastShare = 1 / 3;
/** If fewer tokens than this are left, the next proof reserves more. */
const enoughTokens = BigInt(mostReserved / 2);

/**
 * What one provider knows of a lock that it keeps for its next owner. Messages of other clients may be lost. So the lock may be
 * lent only if the server has proven it within the last `heartbeatMs`, counted from the sending of the request.
 */
export class KeptGrant implements Proven {
  readonly slot: number | null;
  readonly #books: KeptGrants;
  readonly #grant: Provable;
  readonly #state: KeepingState;
  #provenMs: Millis = -Infinity;
  #jumps = 0;
  #asking = false;
  #lentSince = false;
  /** Whether Java clients wait for the lock, according to the last proof. */
  javaListens = false;
  #over = false;
  /** The last token that an owner has had, and the last token that is reserved. */
  #token: FencingToken;
  #upTo: FencingToken;

  /**
   * Asks for a proof at once. An idle kept lock is proven again if Java clients may have come, and one that was lent is proven in
   * any case.
   */
  constructor(books: KeptGrants, grant: Provable, state: KeepingState) {
    this.#books = books;
    this.#grant = grant;
    this.#state = state;
    this.slot = grant.slot;
    this.#token = grant.token;
    this.#upTo = grant.token;
    books.rounds.add(this);
    void this.prove();
  }

  get due(): boolean {
    const { runtime, settings } = this.#books.requests;
    const fresh = runtime.nowMs() - this.#provenMs < settings.heartbeatMs / 2;
    return !fresh && (this.#lentSince || settings.javaPeers);
  }

  /** Must be read in the same step in which the lock is lent. */
  mayLend(): "yes" | "soon" | "no" {
    const { line, runtime, settings } = this.#books.requests;
    const { lock, found, leaseMs } = this.#grant.spec;
    const nowMs = runtime.nowMs();
    if (this.#over || this.#grant.ended || line.state !== "connected") return "no";
    // Rule 9: nothing is known here of what a new master knows.
    if (line.masterOf(lock.key) !== found.runId || this.#grant.runId !== found.runId) return "no";
    if (this.#books.hearing() !== this.#grant.hearing) return "no";
    const proven = nowMs - this.#provenMs <= settings.heartbeatMs && this.#books.jumps.read() === this.#jumps;
    if (!proven || this.#token >= this.#upTo) {
      void this.prove();
      return this.#asking ? "soon" : "no";
    }
    // Rule 11: replicas are known to have the lease of the grant. No later proof or renewal has waited for them.
    const ackedUntilMs = settings.acks > 0 ? found.untilMs : Infinity;
    const leftMs = Math.min(this.#grant.validUntilMs(), ackedUntilMs) - nowMs;
    return leftMs >= leastShare * leaseMs ? "yes" : "no";
  }

  /** The token of the next owner. */
  lend(): FencingToken {
    this.#lentSince = true;
    this.#token++;
    return this.#token;
  }

  /** Asks the server whether the hold still stands and whether another client wants it. Never rejects. */
  async prove(): Promise<void> {
    if (this.#asking || this.#over) return;
    this.#asking = true;
    this.#lentSince = false;
    const jumps = this.#books.jumps.read();
    try {
      const proof = await this.#grant.askProof(this.#upTo - this.#token < enoughTokens);
      this.#asking = false;
      if (proof !== null && !this.#over) this.#proven(proof, jumps);
    } catch {
      // A lock that is not proven is not lent. The release, or an owner's renewal, meets the same failure and reports it.
      this.#asking = false;
      if (!this.#over) this.#state.wanted();
    }
  }

  #proven({ reply, sentMs }: Proof, jumps: number): void {
    this.#reserved(reply);
    this.javaListens = reply.listeners > 0;
    const { runtime, settings } = this.#books.requests;
    // If an answer takes longer than a proof counts, the next one would come too late as well.
    const tooOld = runtime.nowMs() - sentMs > settings.heartbeatMs;
    if (reply.waited || this.javaListens || this.#token >= this.#upTo || tooOld) {
      this.#state.wanted();
      return;
    }
    this.#provenMs = sentMs;
    this.#jumps = jumps;
    this.#state.answered();
  }

  /**
   * Adds the reserved tokens. If `above` is higher than the last token reserved before, another client's request has raised the
   * key, and the tokens in between are not ours.
   */
  #reserved({ above, token }: Proof["reply"]): void {
    if (token <= this.#upTo || token <= above) return;
    if (above > this.#upTo) this.#token = above > this.#token ? above : this.#token;
    this.#upTo = token;
  }

  /** Called when the lock is given back or lost. */
  stop(): void {
    this.#over = true;
    this.#books.rounds.remove(this);
  }
}
