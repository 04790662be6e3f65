import { BackendError, type Millis, type Runtime } from "@holdfast/core";
import { pause, RecentMap } from "@holdfast/core/internal";
import { OutcomeUnknownError } from "../../client/errors.js";
import type { Answer, RedisLine, RunOptions } from "../../client/redis-line.js";
import type { RedissonPublish } from "../../layout/channels.js";
import { type BatchAnswer, type BatchContext, Batches, type BatchKind, type Heard } from "./batches.js";
import type { BoundCall, Call } from "./calls.js";
import { conflictIn } from "./foreign-key.js";
import { ServerClock } from "./server-clock.js";
import type { RecipeSettings } from "./settings.js";

export interface RequestsParts extends Pick<Requests, "line" | "runtime" | "settings"> {
  /** Called when the clock of the server with this run id was stepped. */
  clockStepped(runId: string): void;
}

/** The result of a request that was repeated until it was answered, or until it was too late. */
export type Outcome<R> = { readonly repeated: boolean } & (
  | { readonly reply: R; readonly runId: string }
  | { readonly reply: null; readonly runId: null }
);

/** The pause after a refusal: the least, the most, and which share of the time since the request was first sent. */
const leastPauseMs: Millis = 50;
const mostPauseMs: Millis = 10_000;
const pauseShare = 1 / 100;
/** For how many locks the highest token is remembered; those that were asked for last are kept. */
const rememberedTokens = 10_000;

/** Runs the scripts of one provider, and notes the server times in their answers. */
export class Requests implements BatchContext {
  readonly line: RedisLine;
  readonly runtime: Runtime;
  readonly settings: RecipeSettings;
  readonly batches: Batches;
  /** The clocks of all masters that have answered, by run id. */
  readonly #clocks = new Map<string, ServerClock>();
  readonly #clockStepped: (runId: string) => void;
  readonly #tokens = new RecentMap<string, bigint>(rememberedTokens);

  constructor({ line, runtime, settings, clockStepped }: RequestsParts) {
    this.line = line;
    this.runtime = runtime;
    this.settings = settings;
    this.batches = new Batches(this);
    this.#clockStepped = clockStepped;
  }

  get publish(): RedissonPublish {
    return this.line.publishCommand;
  }

  /** Rejects as `RedisLine.run` does. The server's time in the answer is noted. */
  run<R extends { readonly serverMs: number }>(
    call: BoundCall<R>,
    options: RunOptions = {},
  ): Promise<Answer<R>> {
    return this.line.run(call.script, call.keys, call.args, options).then(
      (answer) => {
        this.noteClock(answer.reply.serverMs, answer);
        return answer;
      },
      (error: unknown) => {
        throw conflictIn(call.keys, error);
      },
    );
  }

  /** Like `run`, but a call that can share one with others is batched. */
  ask<R extends { readonly serverMs: number }>(call: Call<R>): Promise<BatchAnswer<R>> {
    if (!("kind" in call)) return this.run(call);
    return this.batches.ask(call.kind as BatchKind<unknown, R>, call.keys, call.entry);
  }

  noteClock(serverMs: number, { sentMs, answeredMs, runId }: Heard): void {
    if (serverMs === 0) return;
    const clock = this.#clocks.get(runId) ?? new ServerClock();
    this.#clocks.set(runId, clock);
    if (!clock.observe({ serverMs, sentMs, answeredMs })) this.#clockStepped(runId);
  }

  clockOf(runId: string | null): ServerClock | undefined {
    return runId === null ? undefined : this.#clocks.get(runId);
  }

  /**
   * Asks until there is an answer, or until `endMs`, by which nothing of the request's owner can be left at the server.
   * `repeated`: an earlier attempt may have been executed as well. `runId`: of the master that answered.
   */
  async runUntilAnswered<R extends { readonly serverMs: number }>(
    call: Call<R>,
    endMs: Millis,
  ): Promise<Outcome<R>> {
    const startedMs = this.runtime.nowMs();
    let repeated = false;
    for (;;) {
      try {
        const { reply, runId, askedBy = runId } = await this.ask(call);
        return { reply, repeated, runId: askedBy };
      } catch (error) {
        if (this.line.closed) throw unconfirmed(error);
        if (error instanceof OutcomeUnknownError) repeated = true;
        if (!(error instanceof BackendError && error.retryable)) throw error;
        const leftMs = endMs - this.runtime.nowMs();
        if (leftMs <= 0) return { reply: null, repeated, runId: null };
        const restMs = pauseShare * (this.runtime.nowMs() - startedMs);
        const pauseMs = Math.min(Math.max(leastPauseMs, restMs), mostPauseMs, leftMs);
        const rested = (forMs: Millis) => pause(this.runtime, forMs, { ref: true }).over;
        // A refusal settles nothing, so the request is retried until the time is over.
        if (this.line.state === "connected") await rested(pauseMs);
        else await this.line.whenConnected({ waitMs: leftMs }).catch(() => rested(leastPauseMs));
      }
    }
  }

  /**
   * Sends an owner's last request, as `runUntilAnswered` does. `lateUntilMs`: the server time up to which an earlier request of
   * this owner may still run, whose outcome is unknown: its connection was given up, and the network may deliver its bytes late; or
   * it waits for replicas, on a connection of its own. After that time the last request is sent once more, in the background.
   * Without this the lock would stay taken for a whole lease although no client holds it. `null`: nothing can arrive any more.
   */
  async runLast<R extends { readonly serverMs: number }>(
    call: Call<R>,
    endMs: Millis,
    lateUntilMs: number | null,
  ): Promise<Outcome<R>> {
    const outcome = await this.runUntilAnswered(call, endMs);
    if (lateUntilMs !== null && outcome.reply !== null)
      this.#runAgain(call, endMs, lateUntilMs - outcome.reply.serverMs).catch(() => {
        // If this fails, the lock may stay taken for a lease, as after the crash of a client.
      });
    return outcome;
  }

  async #runAgain<R extends { readonly serverMs: number }>(
    call: Call<R>,
    endMs: Millis,
    leftMs: Millis,
  ): Promise<void> {
    // After a server's clock was set back, `leftMs` may reach beyond the end of the lease.
    const restMs = endMs - this.runtime.nowMs();
    if (leftMs < 0 || restMs <= 0) return;
    // It keeps no process alive: after `close()` the request could not be sent.
    await pause(this.runtime, Math.min(leftMs + 1, restMs)).over;
    await this.runUntilAnswered(call, endMs);
  }

  /**
   * The limits of a request that may grant: the server time after which it does nothing, and how many replicas have to confirm
   * it.
   */
  grantBounds(key: string): { readonly notAfterMs: number | null; readonly options: RunOptions } {
    const { acks, waitTimeoutMs } = this.settings;
    const notAfterMs = this.notAfterMs(key, acks > 0 ? 2 * waitTimeoutMs : 0);
    // Rule 11: WAIT follows every script that may grant.
    return { notAfterMs, options: acks > 0 ? { wait: { replicas: acks, timeoutMs: waitTimeoutMs } } : {} };
  }

  /**
   * Whether a request that waits for replicas would have no date, because the server's clock is not known. A late copy of it
   * could then be executed after the last request of its owner, and hold the lock for a whole lease. A renewal, even without a
   * hold, reads the clock.
   */
  lacksClock(key: string): boolean {
    return this.settings.acks > 0 && this.notAfterMs(key) === null;
  }

  /** The `lateUntilMs` of `runLast`: the server time up to which a request that failed in this way may still run. */
  lateUntilMs(error: unknown, notAfterMs: number | null): number | null {
    return error instanceof OutcomeUnknownError ? notAfterMs : null;
  }

  /**
   * Server time after which a request does nothing. A late copy, from a connection that was given up long ago, must not put an
   * owner back that was cancelled meanwhile.
   */
  notAfterMs(key: string, extraMs: Millis = 0): number | null {
    const upperMs = this.#clockAt(key)?.upperMs(this.runtime.nowMs());
    if (upperMs === undefined || upperMs === null) return null;
    return upperMs + 2 * this.settings.commandTimeoutMs + extraMs;
  }

  /**
   * The clock of the key's master. Before the first answer of a script it is the clock that the master showed when it was
   * connected to.
   */
  #clockAt(key: string): ServerClock | undefined {
    const runId = this.line.masterOf(key);
    const known = this.clockOf(runId);
    if (known !== undefined || runId === null) return known;
    const shown = this.line.clockAt(key);
    if (shown !== null) this.noteClock(shown.serverMs, { ...shown, runId });
    return this.clockOf(runId);
  }

  /**
   * Rule 1: an answer to a request that was sent before a step of the server's clock was noticed does not show how long a hold
   * lasts.
   */
  trusts({ runId, sentMs }: Pick<Heard, "runId" | "sentMs">): boolean {
    return this.clockOf(runId)?.trusts(sentMs) !== false;
  }

  /** Rule 9: the value to which the next request for a lock raises its token key, in case a failover has lost it. */
  floorOf(key: string): bigint {
    return this.#tokens.get(key) ?? 0n;
  }

  sawToken(key: string, token: bigint): void {
    const before = this.floorOf(key);
    this.#tokens.set(key, token > before ? token : before);
  }
}

function unconfirmed(cause: unknown): BackendError {
  return new BackendError("the provider was closed before Redis confirmed", { cause, backend: "redis" });
}
