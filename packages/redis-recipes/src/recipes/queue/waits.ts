import { BackendError, type Millis } from "@holdfast/core";
import { inSlices, RecentMap } from "@holdfast/core/internal";
import type { HandOver } from "../../layout/grant-message.js";
import type { StandAnswer } from "../../scripts/mutex/answers.js";
import type { Holds } from "../grants/holds.js";
import type { BatchAnswer } from "../requests/batches.js";
import type { Requests } from "../requests/requests.js";
import { Rounds } from "../requests/rounds.js";
import type { QueuedLock } from "./queued-lock.js";
import { stayingRounds } from "./staying-waits.js";

/** A queued owner, or one on its way into a queue. */
export interface Wait {
  readonly owner: string;
  readonly lock: QueuedLock;
  readonly leaseMs: Millis;
  /** Whether its place is to be kept, and its turn asked for. */
  readonly queued: boolean;
  /** Another stands in front of it, as the last answer said. */
  readonly behind: boolean;
  heartbeatAnswered(answer: BatchAnswer<StandAnswer>): void;
  /** A message of the grant channel has handed the lock over. */
  handedOver(message: HandOver, heardMs: Millis): void;
  /** Refused for good. */
  failed(error: Error): void;
}

interface Heartbeat {
  readonly wait: Wait;
  /** In whose turns it is; `null` before it has a place. */
  rounds: Rounds<Heartbeat> | null;
  inFlight: boolean;
  /** It is asked for once more: since it was sent, or before it could be. */
  again: boolean;
}

/** An owner that ended: what still comes for it is answered by another cancel. */
interface Ended {
  readonly lock: QueuedLock;
  readonly leaseMs: Millis;
  readonly untilMs: Millis;
  /** Its release, which is repeated until it is answered: a cancel in between would let it find nothing, as if the hold had been lost. */
  readonly ending: Promise<unknown>;
}

/** An ended owner that is dropped from the list and granted later keeps the lock taken for one claim lease, as after a crash. */
const rememberedEnded = 10_000;

/**
 * All waits of one provider, in one batch of heartbeats for each slot. A wait is known here before its acquire is sent, so that
 * no message can come for an owner that is not known here.
 */
export class Waits {
  readonly #requests: Requests;
  readonly #holds: Holds;
  /** By owner, also for those whose acquire is under way: messages for them may overtake its answer. */
  readonly #heartbeats = new Map<string, Heartbeat>();
  readonly #ended: RecentMap<string, Ended>;
  /** The waits that stand first, or whose kind asks for each turn: they ask whether it has come. */
  readonly #front: Rounds<Heartbeat>;
  /** The waits behind them. */
  readonly #behind: Rounds<Heartbeat>;
  #closed = false;

  constructor(requests: Requests, holds: Holds) {
    this.#requests = requests;
    this.#holds = holds;
    this.#ended = new RecentMap(rememberedEnded, ({ untilMs }) => untilMs <= requests.runtime.nowMs());
    this.#front = new Rounds({
      runtime: requests.runtime,
      periodMs: requests.settings.heartbeatMs,
      slotOf: ({ wait }) => requests.line.slotOf(wait.lock.key),
      turn: (heartbeats) => {
        for (const heartbeat of heartbeats) this.#heartbeat(heartbeat);
      },
    });
    this.#behind = stayingRounds(requests, (heartbeat) => this.#heartbeatSoon(heartbeat));
  }

  get size(): number {
    return this.#heartbeats.size;
  }

  /** How many have a place in the queue of a lock, as far as they know. */
  waitingOn(key: string): number {
    return [...this.#heartbeats.values()].filter(({ wait }) => wait.queued && wait.lock.key === key).length;
  }

  add(wait: Wait): void {
    this.#heartbeats.set(wait.owner, { wait, rounds: null, inFlight: false, again: false });
  }

  find(owner: string): Wait | undefined {
    return this.#heartbeats.get(owner)?.wait;
  }

  /** It has a grant, or nothing of it can be at the server. */
  remove({ owner }: Pick<Wait, "owner">): void {
    const heartbeat = this.#heartbeats.get(owner);
    if (heartbeat === undefined) return;
    this.#heartbeats.delete(owner);
    heartbeat.rounds?.remove(heartbeat);
  }

  /** Its cancel, or its release `ending`, goes out now. Copies of what was sent before may come after it. */
  end(wait: Pick<Wait, "owner" | "lock" | "leaseMs">, ending: Promise<unknown> = Promise.resolve()): void {
    const { runtime, settings } = this.#requests;
    this.remove(wait);
    const untilMs = runtime.nowMs() + 10 * settings.aliveMs;
    this.#ended.set(wait.owner, { lock: wait.lock, leaseMs: wait.leaseMs, untilMs, ending });
  }

  /** Nothing of it was ever at the server. */
  forget(owner: string): void {
    this.#ended.delete(owner);
  }

  /** Owners that ended and may still be heard of. */
  get endedSize(): number {
    return this.#ended.size;
  }

  /** Rule 3: an owner that has ended was granted, or queued again: given back at once. `false` for an owner that is not known. */
  cancelEnded(owner: string): boolean {
    const ended = this.#ended.get(owner);
    if (ended === undefined) return false;
    const { lock, leaseMs, ending } = ended;
    Promise.allSettled([ending])
      .then(() => this.#requests.ask(lock.cancel(owner, leaseMs)))
      .catch(() => {
        // It costs one claim lease then, as that of any client that died.
      });
    return true;
  }

  /** Rule 8, and after the first subscription: at once, and in as few batches as the turns of the event loop can bear. */
  heartbeatAll(): void {
    const all = [...this.#heartbeats.values()];
    inSlices(this.#requests.runtime, all, (heartbeat) => this.#heartbeatSoon(heartbeat));
  }

  /** A wait whose acquire is under way asks once it is queued: a nudge may overtake the answer that says `queued`. */
  heartbeatNow(wait: Wait): void {
    const heartbeat = this.#heartbeats.get(wait.owner);
    if (heartbeat !== undefined) this.#heartbeatSoon(heartbeat);
  }

  /** It has a place in the queue: from now on it has its turns. */
  queued(wait: Wait): void {
    const heartbeat = this.#heartbeats.get(wait.owner);
    if (heartbeat === undefined) return;
    this.#takeTurns(heartbeat);
    if (heartbeat.again) this.#heartbeat(heartbeat);
  }

  close(): void {
    this.#closed = true;
    this.#front.close();
    this.#behind.close();
    this.#heartbeats.clear();
    this.#ended.clear();
  }

  /** Puts the heartbeat into the rounds for its place, which is that of the last answer. */
  #takeTurns(heartbeat: Heartbeat): void {
    const { wait, rounds } = heartbeat;
    const next = wait.behind && wait.lock.stayKeys !== null ? this.#behind : this.#front;
    if (this.#closed || rounds === next) return;
    rounds?.remove(heartbeat);
    next.add(heartbeat);
    heartbeat.rounds = next;
  }

  #heartbeatSoon(heartbeat: Heartbeat): void {
    // It may have ended before its turn came.
    if (this.#heartbeats.get(heartbeat.wait.owner) !== heartbeat) return;
    if (heartbeat.wait.queued) this.#heartbeat(heartbeat);
    else heartbeat.again = true;
  }

  #heartbeat(heartbeat: Heartbeat): void {
    if (!heartbeat.wait.queued) return;
    if (heartbeat.inFlight) heartbeat.again = true;
    else void this.#send(heartbeat);
  }

  async #send(heartbeat: Heartbeat): Promise<void> {
    const { wait } = heartbeat;
    const { owner, lock } = wait;
    heartbeat.inFlight = true;
    heartbeat.again = false;
    const leaseMs = Math.floor(wait.leaseMs);
    const entry = { owner, leaseMs, floor: this.#requests.floorOf(lock.key) };
    try {
      const answer = await this.#requests.batches.ask(lock.heartbeat, lock.keys, entry);
      heartbeat.inFlight = false;
      if (this.#heartbeats.get(owner) === heartbeat) {
        wait.heartbeatAnswered(answer);
        if (this.#heartbeats.get(owner) === heartbeat) this.#takeTurns(heartbeat);
      } else this.#tooLate(owner, answer.reply);
    } catch (error) {
      heartbeat.inFlight = false;
      // Trouble in transport: the next heartbeat, or the reconnect, asks again.
      const passing = error instanceof BackendError && error.retryable;
      if (!passing && this.#heartbeats.get(owner) === heartbeat) wait.failed(error as Error);
    }
    if (heartbeat.again && this.#heartbeats.get(owner) === heartbeat) this.#heartbeat(heartbeat);
  }

  #tooLate(owner: string, reply: StandAnswer): void {
    if (this.#closed || this.#holds.of(owner).length > 0) return;
    if (reply.status === "granted" || reply.status === "queued") this.cancelEnded(owner);
  }
}
