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

/** An owner that is queued, or on its way into a queue. */
export interface Wait {
  readonly owner: string;
  readonly lock: QueuedLock;
  readonly leaseMs: Millis;
  /** Whether its place is to be kept, and its turn asked for. */
  readonly queued: boolean;
  /** Another waiter is in front, according to the last answer. */
  readonly behind: boolean;
  heartbeatAnswered(answer: BatchAnswer<StandAnswer>): void;
  /** A message of the grant channel has handed the lock over. */
  handedOver(message: HandOver, heardMs: Millis): void;
  /** The wait was refused, and trying again would not help. */
  failed(error: Error): void;
}

interface Heartbeat {
  readonly wait: Wait;
  /** The rounds in which it has its turns; `null` before it has a place. */
  rounds: Rounds<Heartbeat> | null;
  inFlight: boolean;
  /** Another heartbeat was asked for after the last one was sent, or before one could be sent. */
  again: boolean;
}

/** An owner that ended. If a grant or a place still comes for it, another cancel is sent. */
interface Ended {
  readonly lock: QueuedLock;
  readonly leaseMs: Millis;
  readonly untilMs: Millis;
  /**
   * Its release, which is repeated until it is answered. A cancel sent in between would make the release find nothing, as if the
   * hold had been lost.
   */
  readonly ending: Promise<unknown>;
}

/**
 * How many ended owners are remembered. If one is dropped from the list and granted later, the lock stays taken for one claim
 * lease, as after a crash.
 */
const rememberedEnded = 10_000;

/**
 * All waits of one provider, with one batch of heartbeats for each slot. A wait is added here before its acquire is sent, so that
 * no message can come for an owner that is not known here.
 */
export class Waits {
  readonly #requests: Requests;
  readonly #holds: Holds;
  /** By owner, including owners whose acquire is under way: messages for them may arrive before its answer. */
  readonly #heartbeats = new Map<string, Heartbeat>();
  readonly #ended: RecentMap<string, Ended>;
  /** The first waiters, and those whose kind asks at each turn. They ask whether their turn has come. */
  readonly #front: Rounds<Heartbeat>;
  /** The waiters behind them. */
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

  /** How many waits are in the queue of a lock, according to their last answers. */
  waitingOn(key: string): number {
    return [...this.#heartbeats.values()].filter(({ wait }) => wait.queued && wait.lock.key === key).length;
  }

  add(wait: Wait): void {
    this.#heartbeats.set(wait.owner, { wait, rounds: null, inFlight: false, again: false });
  }

  find(owner: string): Wait | undefined {
    return this.#heartbeats.get(owner)?.wait;
  }

  /** Called when the wait has a grant, or when nothing of it can be at the server. */
  remove({ owner }: Pick<Wait, "owner">): void {
    const heartbeat = this.#heartbeats.get(owner);
    if (heartbeat === undefined) return;
    this.#heartbeats.delete(owner);
    heartbeat.rounds?.remove(heartbeat);
  }

  /** Called when its cancel, or its release `ending`, is sent. Copies of earlier requests may arrive after it. */
  end(wait: Pick<Wait, "owner" | "lock" | "leaseMs">, ending: Promise<unknown> = Promise.resolve()): void {
    const { runtime, settings } = this.#requests;
    this.remove(wait);
    const untilMs = runtime.nowMs() + 10 * settings.aliveMs;
    this.#ended.set(wait.owner, { lock: wait.lock, leaseMs: wait.leaseMs, untilMs, ending });
  }

  /** Nothing of this owner was ever at the server. */
  forget(owner: string): void {
    this.#ended.delete(owner);
  }

  /** How many ended owners are remembered because answers or messages for them may still come. */
  get endedSize(): number {
    return this.#ended.size;
  }

  /**
   * Rule 3: an owner that has ended was granted, or queued again. That is cancelled at once. Returns `false` for an unknown
   * owner.
   */
  cancelEnded(owner: string): boolean {
    const ended = this.#ended.get(owner);
    if (ended === undefined) return false;
    const { lock, leaseMs, ending } = ended;
    Promise.allSettled([ending])
      .then(() => this.#requests.ask(lock.cancel(owner, leaseMs)))
      .catch(() => {
        // If this fails, the lock stays taken for one claim lease, as after the crash of a client.
      });
    return true;
  }

  /**
   * Rule 8, and after the first subscription: sends all heartbeats at once, in as few batches as the turns of the event loop
   * allow.
   */
  heartbeatAll(): void {
    const all = [...this.#heartbeats.values()];
    inSlices(this.#requests.runtime, all, (heartbeat) => this.#heartbeatSoon(heartbeat));
  }

  /** A wait whose acquire is under way asks once it is queued: a nudge may arrive before the answer that says `queued`. */
  heartbeatNow(wait: Wait): void {
    const heartbeat = this.#heartbeats.get(wait.owner);
    if (heartbeat !== undefined) this.#heartbeatSoon(heartbeat);
  }

  /** Called when the wait has a place in the queue: from now on it has its turns. */
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

  /** Puts the heartbeat into the rounds for its place according to the last answer. */
  #takeTurns(heartbeat: Heartbeat): void {
    const { wait, rounds } = heartbeat;
    const next = wait.behind && wait.lock.stayKeys !== null ? this.#behind : this.#front;
    if (this.#closed || rounds === next) return;
    rounds?.remove(heartbeat);
    next.add(heartbeat);
    heartbeat.rounds = next;
  }

  #heartbeatSoon(heartbeat: Heartbeat): void {
    // The wait may have ended before its turn came.
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
