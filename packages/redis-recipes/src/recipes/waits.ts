import { BackendError, type Millis } from "@holdfast/core";
import type { HandOver } from "../layout/grant-message.js";
import type { StandAnswer } from "../scripts/mutex/answers.js";
import type { BatchAnswer } from "./batches.js";
import type { Holds } from "./holds.js";
import type { QueuedLock } from "./queued-lock.js";
import type { Requests } from "./requests.js";
import { Rounds } from "./rounds.js";

/** One owner in a queue, or on its way there. */
export interface Wait {
  readonly owner: string;
  readonly lock: QueuedLock;
  readonly leaseMs: Millis;
  /** Whether its place is to be kept, and its turn asked for. */
  readonly standing: boolean;
  beaten(answer: BatchAnswer<StandAnswer>): void;
  /** By a message of the grant channel. */
  handedOver(message: HandOver, heardMs: Millis): void;
  /** Refused for good. */
  failed(error: Error): void;
}

interface Beat {
  readonly wait: Wait;
  /** It has a place in the queue that its turns keep. */
  turns: boolean;
  flying: boolean;
  /** Something happened since that one was sent, or before it could be. */
  again: boolean;
}

/** Owners that ended: what still comes for them is answered by another cancel. */
interface Past {
  readonly lock: QueuedLock;
  readonly leaseMs: Millis;
  readonly untilMs: Millis;
  /** Its release, which is repeated until it is answered: a cancel in between would let it find nothing, as if the hold had been lost. */
  readonly ending: Promise<unknown>;
}

/** One that is forgotten sooner costs a claim lease if it is granted after all, as that of a client that died. */
const rememberedPast = 10_000;

/**
 * All waits of one provider, in one batch of heartbeats for each slot. A wait is known here before its acquire is sent, so that
 * no message can come for an owner that nobody knows.
 */
export class Waits {
  readonly #requests: Requests;
  readonly #holds: Holds;
  readonly #beats = new Map<string, Beat>();
  readonly #past = new Map<string, Past>();
  readonly #rounds: Rounds<Beat>;
  #closed = false;

  constructor(requests: Requests, holds: Holds) {
    this.#requests = requests;
    this.#holds = holds;
    this.#rounds = new Rounds({
      runtime: requests.runtime,
      periodMs: requests.settings.heartbeatMs,
      slotOf: ({ wait }) => requests.line.slotOf(wait.lock.key),
      turn: (beats) => {
        for (const beat of beats) this.#beat(beat);
      },
    });
  }

  get size(): number {
    return this.#beats.size;
  }

  /** How many have a place in the queue of a lock, as far as they know. */
  waitingOn(key: string): number {
    return [...this.#beats.values()].filter(({ wait }) => wait.standing && wait.lock.key === key).length;
  }

  add(wait: Wait): void {
    this.#beats.set(wait.owner, { wait, turns: false, flying: false, again: false });
  }

  find(owner: string): Wait | undefined {
    return this.#beats.get(owner)?.wait;
  }

  /** It has a grant, or nothing of it can be at the server. */
  remove(wait: Pick<Wait, "owner">): void {
    const beat = this.#beats.get(wait.owner);
    if (beat === undefined) return;
    this.#beats.delete(wait.owner);
    if (beat.turns) this.#rounds.remove(beat);
  }

  /** Its cancel, or its release `ending`, goes out now. Copies of what was sent before may come after it. */
  end(wait: Pick<Wait, "owner" | "lock" | "leaseMs">, ending: Promise<unknown> = Promise.resolve()): void {
    const { aliveMs } = this.#requests.settings;
    this.remove(wait);
    const nowMs = this.#requests.runtime.nowMs();
    const untilMs = nowMs + 10 * aliveMs;
    this.#past.set(wait.owner, { lock: wait.lock, leaseMs: wait.leaseMs, untilMs, ending });
    for (const [owner, { untilMs }] of this.#past) {
      if (untilMs > nowMs && this.#past.size <= rememberedPast) break;
      this.#past.delete(owner);
    }
  }

  /** Nothing of it was ever at the server. */
  forget(owner: string): void {
    this.#past.delete(owner);
  }

  /** Owners that ended and may still be heard of. */
  get pastSize(): number {
    return this.#past.size;
  }

  /** Rule 3: granted, or queued again, for somebody who does not want it any more: given back at once. `false` for one never known. */
  cancelPast(owner: string): boolean {
    const past = this.#past.get(owner);
    if (past === undefined) return false;
    const { lock, leaseMs, ending } = past;
    Promise.allSettled([ending])
      .then(() => this.#requests.ask(lock.cancel(owner, leaseMs)))
      .catch(() => {
        // It costs one claim lease then, as that of any client that died.
      });
    return true;
  }

  /** Rule 8, and after the first subscription: at once, and in one batch. */
  beatAll(): void {
    for (const beat of [...this.#beats.values()]) this.#call(beat);
  }

  /** One whose request is still under way asks once it stands: a nudge may overtake the answer that says `queued`. */
  beatNow(wait: Wait): void {
    const beat = this.#beats.get(wait.owner);
    if (beat !== undefined) this.#call(beat);
  }

  /** It has come to stand: from now on it has its turns. */
  stands(wait: Wait): void {
    const beat = this.#beats.get(wait.owner);
    if (beat === undefined) return;
    if (!beat.turns && !this.#closed) this.#rounds.add(beat);
    beat.turns = true;
    if (beat.again) this.#beat(beat);
  }

  close(): void {
    this.#closed = true;
    this.#rounds.close();
    this.#beats.clear();
    this.#past.clear();
  }

  #call(beat: Beat): void {
    if (beat.wait.standing) this.#beat(beat);
    else beat.again = true;
  }

  #beat(beat: Beat): void {
    if (!beat.wait.standing) return;
    if (beat.flying) beat.again = true;
    else void this.#send(beat);
  }

  async #send(beat: Beat): Promise<void> {
    const { wait } = beat;
    const { owner, lock } = wait;
    beat.flying = true;
    beat.again = false;
    const leaseMs = Math.floor(wait.leaseMs);
    const entry = { owner, leaseMs, floor: this.#requests.tokens.of(lock.key) };
    try {
      const answer = await this.#requests.batches.ask(lock.heartbeat, lock.keys, entry);
      beat.flying = false;
      this.#requests.heard(answer.reply.serverMs, answer);
      if (this.#beats.get(owner) === beat) wait.beaten(answer);
      else this.#tooLate(owner, answer.reply);
    } catch (error) {
      beat.flying = false;
      // Trouble in transport: the next beat, or the reconnect, asks again.
      const passing = error instanceof BackendError && error.retryable;
      if (!passing && this.#beats.get(owner) === beat) wait.failed(error as Error);
    }
    if (beat.again && this.#beats.get(owner) === beat) this.#beat(beat);
  }

  #tooLate(owner: string, reply: StandAnswer): void {
    if (this.#closed || this.#holds.find(owner) !== undefined) return;
    if (reply.status === "granted" || reply.status === "queued") this.cancelPast(owner);
  }
}
