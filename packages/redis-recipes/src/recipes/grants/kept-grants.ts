import type { Millis } from "@holdfast/core";
import { ClockJump, pause } from "@holdfast/core/internal";
import { type ProveAnswer, type ProveEntry, prove } from "../../scripts/mutex/prove.js";
import type { Hearing } from "../queue/grant-channel.js";
import type { BatchKind } from "../requests/batches.js";
import type { Requests } from "../requests/requests.js";
import { Rounds } from "../requests/rounds.js";

/** How many kept locks one call proves at most. */
const proofLimit = 200;
/** How long Java has the lock to itself after it was given back for Java, as after a run of hand-offs. */
const javasTurnMs: Millis = 20;

/** A grant that is kept. */
export interface Proven {
  readonly slot: number | null;
  /** Whether its last proof is old and may be out of date. */
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

/**
 * All grants that one provider keeps for their next owners. It decides when each of them is proven, and whose turn it is after
 * its end.
 */
export class KeptGrants {
  readonly requests: Requests;
  /** Notices when the machine slept: earlier proofs show nothing after that. */
  readonly jumps: ClockJump;
  /** See `GrantChannel.hearing`. */
  readonly hearing: () => Hearing | null;
  readonly rounds: Rounds<Proven>;
  /** Locks that were given back for Java. This provider asks for them again only after Java has had its turn. */
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

  /** Called when the lock of this key is given back so that Java has a chance. `released`: settles once the lock is free. */
  leaveToJava(key: string, released: Promise<unknown>): void {
    const { runtime } = this.requests;
    const turn = Promise.allSettled([released])
      .then(() => pause(runtime, javasTurnMs, { ref: true }).over)
      .then(() => {
        if (this.#javas.get(key) === turn) this.#javas.delete(key);
      });
    this.#javas.set(key, turn);
  }

  /** Resolves once Java has had its turn; `undefined` if it is not Java's turn. */
  javasTurn(key: string): Promise<void> | undefined {
    return this.#javas.get(key);
  }
}
