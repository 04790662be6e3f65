import type { FencingToken, Millis } from "@holdfast/core";
import type { KeepingState } from "@holdfast/core/driver";
import { mostReserved, type ProveAnswer } from "../../scripts/mutex/prove.js";
import type { Hearing } from "../queue/grant-channel.js";
import type { BatchAnswer } from "../requests/batches.js";
import type { Held } from "./holds.js";
import type { KeptGrants, Proven } from "./kept-grants.js";

/** What was proven, and when that was asked. */
export type Proof = BatchAnswer<Extract<ProveAnswer, { readonly status: "renewed" }>>;

/** A grant, as far as keeping it has to know it. */
export interface Provable extends Pick<Held, "slot" | "ended" | "runId" | "token" | "validUntilMs"> {
  readonly spec: Held["spec"] & {
    readonly leaseMs: Millis;
    readonly found: { readonly runId: string; readonly untilMs: Millis };
  };
  /** What `KeptGrants.hearing` gave at the grant. */
  readonly hearing: Hearing | null;
  /** `null` when it is gone, which was reported by then. Rejects as a renewal. */
  askProof(reserves: boolean): Promise<Proof | null>;
}

/** A kept grant with less than this share of its lease left is not lent: a hold that is about to end is none. With `acks`, at its replicas. */
const leastShare = 1 / 3;
/** With fewer tokens left than that the next proof reserves more. */
const enoughTokens = BigInt(mostReserved / 2);

/**
 * What one provider knows of a lock that it keeps for its next owner. Messages of other clients may be lost, so that it counts only as far as
 * the server has proven it within a heartbeat, by an answer that was counted from its sending.
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
  /** Java waits for it, as far as the last proof has shown. */
  javaListens = false;
  #over = false;
  /** The last token that an owner has had, and the last that is reserved. */
  #token: FencingToken;
  #upTo: FencingToken;

  /** Proves it at once. An idle one is proven again where Java may have come, and one that was lent in any case. */
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

  /** Read in the very step in which it is lent. */
  mayLend(): "yes" | "soon" | "no" {
    const { line, runtime, settings } = this.#books.requests;
    const { lock, found, leaseMs } = this.#grant.spec;
    const nowMs = runtime.nowMs();
    if (this.#over || this.#grant.ended || line.state !== "connected") return "no";
    // Rule 9: of a master that was replaced nothing is known here.
    if (line.masterOf(lock.key) !== found.runId || this.#grant.runId !== found.runId) return "no";
    if (this.#books.hearing() !== this.#grant.hearing) return "no";
    const proven = nowMs - this.#provenMs <= settings.heartbeatMs && this.#books.jumps.read() === this.#jumps;
    if (!proven || this.#token >= this.#upTo) {
      void this.prove();
      return this.#asking ? "soon" : "no";
    }
    // Rule 11: replicas are known to have the lease of the grant. No proof or renewal since then has asked them.
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

  /** Asks the server whether it still stands and whether another client wants it. Never rejects. */
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
      // What is not proven is not lent. The release, or the renewal of an owner, meets the same trouble and says so.
      this.#asking = false;
      if (!this.#over) this.#state.wanted();
    }
  }

  #proven({ reply, sentMs }: Proof, jumps: number): void {
    this.#reserved(reply);
    this.javaListens = reply.listeners > 0;
    const { runtime, settings } = this.#books.requests;
    // Where answers take longer than a proof counts, the next one would come too late as well.
    const tooOld = runtime.nowMs() - sentMs > settings.heartbeatMs;
    if (reply.waited || this.javaListens || this.#token >= this.#upTo || tooOld) {
      this.#state.wanted();
      return;
    }
    this.#provenMs = sentMs;
    this.#jumps = jumps;
    this.#state.answered();
  }

  /** Tokens between what was reserved before and `above` are not ours: the request of another client has raised the key. */
  #reserved({ above, token }: Proof["reply"]): void {
    if (token <= this.#upTo || token <= above) return;
    if (above > this.#upTo) this.#token = above > this.#token ? above : this.#token;
    this.#upTo = token;
  }

  /** It is given back or lost. */
  stop(): void {
    this.#over = true;
    this.#books.rounds.remove(this);
  }
}
