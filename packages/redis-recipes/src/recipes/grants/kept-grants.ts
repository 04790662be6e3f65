import type { Millis } from "@holdfast/core";
import { ClockJump, pause } from "@holdfast/core/internal";
import { type ProveAnswer, type ProveEntry, prove } from "../../scripts/mutex/prove.js";
import type { Hearing } from "../queue/grant-channel.js";
import type { BatchKind } from "../requests/batches.js";
import type { Requests } from "../requests/requests.js";
import { Rounds } from "../requests/rounds.js";

/** So many kept locks are proven by one call at most. */
const proofLimit = 200;
/** What Java has to itself after a lock was given back for it, as after a run of hand-offs. */
const javasTurnMs: Millis = 20;

/** A grant that is kept. */
export interface Proven {
  readonly slot: number | null;
  /** Its last proof is old, and may be out of date. */
  readonly due: boolean;
  /** Never rejects. */
  prove(): Promise<void>;
}

export const proofs: BatchKind<ProveEntry, ProveAnswer> = {
  script: prove,
  limit: proofLimit,
  args: (entries, _keys, { settings, publish }) =>
    prove.args({ listens: settings.javaPeers ? publish : "none", tokenTtlMs: settings.tokenTtlMs }, entries),
};

/** All grants that one provider keeps for their next owners: when each of them is proven, and whose turn it is after its end. */
export class KeptGrants {
  readonly requests: Requests;
  /** Leases that were proven before the machine slept prove nothing. */
  readonly jumps: ClockJump;
  /** See `GrantChannel.hearing`. */
  readonly hearing: () => Hearing | null;
  readonly rounds: Rounds<Proven>;
  /** Locks that were given back for Java: this provider asks for them again once Java has had its turn. */
  readonly #javas = new Map<string, Promise<void>>();

  constructor(requests: Requests, hearing: () => Hearing | null) {
    this.requests = requests;
    this.jumps = new ClockJump(requests.runtime);
    this.hearing = hearing;
    this.rounds = new Rounds({
      runtime: requests.runtime,
      periodMs: requests.settings.heartbeatMs,
      slotOf: (kept) => kept.slot,
      turn: (all) => {
        for (const kept of all) if (kept.due) void kept.prove();
      },
    });
  }

  /** The lock of this key is given back, and Java is to have a chance. `released`: settles once it is free. */
  leaveToJava(key: string, released: Promise<unknown>): void {
    const { runtime } = this.requests;
    const turn = Promise.allSettled([released])
      .then(() => pause(runtime, javasTurnMs, { ref: true }).over)
      .then(() => {
        if (this.#javas.get(key) === turn) this.#javas.delete(key);
      });
    this.#javas.set(key, turn);
  }

  /** Resolves once Java has had its turn; `undefined` where none is due. */
  javasTurn(key: string): Promise<void> | undefined {
    return this.#javas.get(key);
  }
}
