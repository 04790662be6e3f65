import type { LossReason, Millis } from "@holdfast/core";
import {
  awaitValue,
  type BarrierEntry,
  EarliestTimer,
  inBounds,
  takenBack,
  type WaitBounds,
  type Watched,
} from "@holdfast/core/internal";
import { ourChannels } from "../../layout/channels.js";
import { doubleBarrierKeys } from "../../layout/keys.js";
import {
  type DoubleBarrierAnswer,
  type DoubleBarrierArgs,
  doubleBarrier,
} from "../../scripts/barrier/double.js";
import { every } from "../channels/every.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";
import { marginMs } from "../requests/server-clock.js";

/** `leaving`: a request to leave was sent, and may be executed although its answer is lost. */
type Phase = "entering" | "in" | "leaving" | "over";

/**
 * One member of a double barrier, from its first request. While it enters, each look makes the entry again. Once it has passed, a
 * missing entry means that it is lost.
 */
export class RedisBarrierEntry implements BarrierEntry, Watched<boolean> {
  #lost: LossReason | null = null;
  readonly #runs: RetryingRequests;
  readonly #member: string;
  readonly #parties: number;
  readonly #keys: readonly [full: string, members: string];
  readonly #name: string;
  readonly #channel: string;
  #phase: Phase = "entering";
  /** The look that is under way. It may still make an entry after it was given up. */
  #looking: Promise<unknown> = Promise.resolve();
  /** Until then the other members count this one; by the monotonic clock. */
  #countsUntilMs: Millis = 0;
  /** The members that `leave()` waits for: those that were in when it began. */
  #others: readonly string[] = [];
  #listener: (reason: LossReason) => void = () => {};
  #stop: () => void = () => this.#runs.engine.waiting.delete(this);

  constructor(runs: RetryingRequests, name: string, member: string, parties: number) {
    const keys = doubleBarrierKeys(name);
    this.#runs = runs;
    this.#member = member;
    this.#parties = parties;
    this.#keys = [keys.full, keys.members];
    this.#name = name;
    this.#channel = ourChannels.doubleBarrier(name);
    runs.engine.waiting.add(this);
  }

  subscribe(changed: () => void): () => void {
    return this.#runs.channelWaiters.watch(this.#channel, "plain", changed);
  }

  /** Whether the barrier is full and this member is in it. */
  async read(): Promise<boolean> {
    if (this.#phase !== "entering") return false;
    const asked = this.#enter();
    this.#looking = asked.catch(() => {});
    const { full, members } = await asked;
    return full && members.includes(this.#member);
  }

  /**
   * Enters, always with a time limit at the server: otherwise a late copy, from a connection that was given up long ago, would
   * count a member that has left, and another member would pass alone. While the server's clock is unknown, a read comes first.
   */
  async #enter(): Promise<DoubleBarrierAnswer> {
    if (this.#runs.requests.notAfterMs(this.#keys[0]) === null) {
      const seen = await this.#call("read", true);
      if (this.#phase !== "entering") return seen;
    }
    return await this.#beat("enter");
  }

  /** The other members start now, and count on this one until it leaves. */
  passed(): void {
    this.#phase = "in";
    const { engine, line, requests } = this.#runs;
    const stay = (): void => this.#stay();
    const stopNotices = line.onRenewed(stay);
    const stopTimer = every(engine.runtime, () => requests.settings.heartbeatMs, stay);
    const guard = (): void => {
      if (this.lost === null) deadline.ringBy(this.#countsUntilMs);
    };
    const deadline = new EarliestTimer(engine.runtime, guard);
    this.#stop = () => {
      stopNotices();
      stopTimer();
      deadline.clear();
      engine.waiting.delete(this);
    };
    guard();
  }

  onLost(listener: (reason: LossReason) => void): void {
    this.#listener = listener;
    if (this.#lost !== null) listener(this.#lost);
  }

  /** Reads the clock, since the timer may be late. */
  get lost(): LossReason | null {
    if (this.#counts && this.#runs.engine.runtime.nowMs() >= this.#countsUntilMs) this.#lose("lease-expired");
    return this.#lost;
  }

  watch(): void {
    void this.lost;
  }

  async leave(bounds: WaitBounds): Promise<void> {
    const { engine } = this.#runs;
    if (this.#counts) {
      this.#phase = "leaving";
      const { status, full, members } = await inBounds(engine, bounds, this.#call("leave", true), false);
      // The member was lost while the request was under way: the others may have gone on without it.
      if (this.#counts) this.#end();
      // An earlier sending of the request has removed this member, its answer was lost, and the last member of the round has
      // left since. Members that are in now belong to the next round and may wait there for this one, so it must not wait for them.
      const isNextRound = status === "gone" && !full;
      this.#others = isNextRound ? [] : members.filter((each) => each !== this.#member);
    }
    const remaining: Watched<number> = {
      subscribe: (changed) => this.subscribe(changed),
      read: async () => {
        const { members } = await this.#call("read", true);
        return this.#others.filter((each) => members.includes(each)).length;
      },
    };
    await awaitValue(engine, bounds, remaining, (count) => count === 0);
  }

  async giveUp(): Promise<void> {
    this.#end();
    await this.#call("leave", false);
  }

  /**
   * Removes the entry of a member that has not passed. Waits for a server that answers; an entry that stays behind ends by
   * itself.
   */
  async withdraw(): Promise<void> {
    this.#end();
    const gone = this.#looking.then(() => this.#call("leave", false));
    await takenBack(this.#runs.engine, { key: this.#channel, name: this.#name }, gone);
  }

  /** `close()` waits for the answer only if the other members count on this one. */
  providerClosed(): void {
    const counted = this.#counts;
    this.#lose("provider-closed");
    const left = this.giveUp().catch(() => {});
    if (counted) this.#runs.engine.trackCleaning(left);
  }

  /** Whether the other members count on this one. */
  get #counts(): boolean {
    return this.#phase === "in" || this.#phase === "leaving";
  }

  #stay(): void {
    if (!this.#counts) return;
    this.#beat("stay").then(
      ({ status }) => {
        if (status !== "gone") return;
        if (this.#phase === "in") this.#lose("lease-missing");
        // Most likely our own request to leave has removed the entry. That request is repeated until it is answered.
        else this.#stop();
      },
      // An outage. The next heartbeat asks again, or the deadline ends the membership.
      () => {},
    );
  }

  async #beat(action: "enter" | "stay"): Promise<DoubleBarrierAnswer> {
    const { engine, requests } = this.#runs;
    const startedMs = engine.runtime.nowMs();
    const answer = await this.#call(action, true);
    // Count from before the request was sent: if it had to wait for the connection, the entry counts for a shorter time here.
    const { aliveMs } = requests.settings;
    if (answer.status === "done") {
      this.#countsUntilMs = Math.max(this.#countsUntilMs, startedMs + aliveMs - marginMs(aliveMs));
    }
    return answer;
  }

  #call(action: DoubleBarrierArgs["action"], patient: boolean): Promise<DoubleBarrierAnswer> {
    const { requests } = this.#runs;
    const args = () =>
      doubleBarrier.args({
        action,
        member: this.#member,
        parties: this.#parties,
        aliveMs: requests.settings.aliveMs,
        // A request that keeps an existing entry, or removes one, does no harm whenever it arrives.
        notAfterMs: action === "enter" ? requests.notAfterMs(this.#keys[0]) : null,
        changes: this.#channel,
      });
    return this.#runs.run(doubleBarrier, { keys: this.#keys, args, repeatable: true, patient });
  }

  #lose(reason: LossReason): void {
    if (!this.#counts) return;
    this.#end();
    this.#lost = reason;
    this.#listener(reason);
  }

  #end(): void {
    this.#phase = "over";
    this.#stop();
  }
}
