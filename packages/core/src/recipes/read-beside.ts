import type { Grant } from "../api/driver.js";
import {
  BackendError,
  EvictedError,
  type HoldfastError,
  LockLostError,
  QuorumError,
  UnsupportedError,
} from "../api/errors.js";
import type { Millis } from "../api/values.js";
import { noAnswer } from "../grants/acquire-errors.js";
import { AcquireReport, type Outcome } from "../grants/acquire-report.js";
import { Hold } from "../grants/hold.js";
import type { ResolvedAcquireOptions } from "../options/acquire-options.js";
import { type LocalBounds, waitLocally } from "../signals/wait-locally.js";
import { whenCertain } from "./when-certain.js";

/** `"given-back"`: the write was released meanwhile, by its own holder. `"too-late"`: the deadline came first. */
export type Beside = Hold | "given-back" | "too-late";

/**
 * Takes a read beside a write that is held, without a gap between them: the write's place in the queue is the read's once
 * the write is released. Touches nothing of the write.
 *
 * - Never built on a write in doubt: waits until contact has shown that it stands.
 * - Rejects with the write's `LockLostError` when that is lost before the read is delivered, also by `close()`.
 * - Rejects with `signal.reason` at an abort; the write is held as before.
 * - A read that comes after any of these is given back at once, and a later acquire of this name waits for that.
 * - Contact that breaks between the grant and its delivery: the read counts once a round trip has shown that it stands.
 */
export async function readBeside(
  write: Hold,
  options: ResolvedAcquireOptions,
  bounds: LocalBounds,
): Promise<Beside> {
  const { engine, kind, name, owner } = write;
  if (engine.driver.downgrade === undefined) {
    throw new UnsupportedError(`the backend ${engine.backend} has no read beside a write`, {
      lockName: name,
      backend: engine.backend,
    });
  }
  const spec = { kind, name, mode: "shared", permits: 1, owner, options, throws: true } as const;
  const report = new AcquireReport(engine, spec);
  const startedMs = engine.runtime.nowMs();
  const settled = (outcome: Outcome, error?: unknown, grant?: Grant): void => {
    const detail = { roundTrips: grant?.roundTrips ?? 0, contended: false, token: grant?.token ?? null };
    const waitedMs = engine.runtime.nowMs() - startedMs;
    report.settled(outcome, waitedMs, outcome === "error" ? { ...detail, error } : detail);
  };
  report.started();
  report.sent();
  try {
    const granted = (grant: Grant): void => settled("granted", undefined, grant);
    const taken = await new Taking(write, options, bounds, report, granted).run();
    if (taken === "too-late") settled("timeout");
    if (taken === "given-back") settled("unavailable");
    return taken;
  } catch (error) {
    const { signal } = bounds;
    settled(signal?.aborted === true && error === signal.reason ? "aborted" : "error", error);
    throw error;
  }
}

/** One read under way. */
class Taking {
  readonly #write: Hold;
  readonly #options: ResolvedAcquireOptions;
  readonly #bounds: LocalBounds;
  readonly #report: AcquireReport;
  readonly #granted: (grant: Grant) => void;
  #attempt = 0;

  constructor(
    write: Hold,
    options: ResolvedAcquireOptions,
    bounds: LocalBounds,
    report: AcquireReport,
    granted: (grant: Grant) => void,
  ) {
    this.#write = write;
    this.#options = options;
    this.#bounds = bounds;
    this.#report = report;
    this.#granted = granted;
  }

  async run(): Promise<Beside> {
    const { runtime } = this.#write.engine;
    const startedMs = runtime.nowMs();
    for (;;) {
      try {
        return await whenCertain(this.#write, this.#bounds, () => this.#ask());
      } catch (error) {
        if (!(await this.#mayAskAgain(error, runtime.nowMs() - startedMs))) throw error;
      }
    }
  }

  async #ask(): Promise<Beside> {
    const { engine } = this.#write;
    const sentEpoch = engine.clockJump.read();
    const asked = this.#request();
    let stays = false;
    try {
      const grant = await this.#awaited(asked);
      if (typeof grant === "string") return grant;
      const read = new Hold(engine, this.#identity(), this.#options, grant, sentEpoch);
      const proven = await this.#proven(read);
      if (proven !== undefined) return proven;
      if (!read.check()) throw this.#goneAlready(read);
      if (this.#writeGivenBack()) return "given-back";
      // In the same breath in which the write was seen to stand: from here on the read is in the books.
      stays = true;
      read.deliver();
      this.#granted(grant);
      return read;
    } finally {
      if (!stays) this.#giveBack(asked);
    }
  }

  /** `undefined` when the read is certain. */
  async #proven(read: Hold): Promise<"given-back" | undefined> {
    const { engine } = this.#write;
    while (engine.link.state !== "connected" || read.uncertain) {
      const contact = engine.link.state === "connected" ? undefined : engine.contactRegained();
      const proof = this.#typed(async () => {
        await contact;
        return await read.prove();
      });
      const stands = await this.#awaited(proof);
      if (typeof stands === "string") return stands;
      if (!stands) read.lose(read.missingReason);
      if (!read.check()) break;
    }
    return undefined;
  }

  /** What `work` gives, unless the write ends, the signal aborts or the deadline comes first. */
  async #awaited<T>(work: Promise<T>): Promise<T | "given-back"> {
    const write = this.#write;
    const { deadlineMs, signal } = this.#bounds;
    // As everywhere, asking once has the time that a connection may take.
    const { connectTimeoutMs } = write.engine.options;
    const startedMs = write.engine.runtime.nowMs();
    const onceMs = startedMs + connectTimeoutMs;
    const bounds = { signal, deadlineMs: this.#options.waitMs === 0 ? onceMs : deadlineMs };
    let answered = false;
    const noteAnswer = (): void => {
      answered = true;
    };
    work.then(noteAnswer, noteAnswer);
    while (!answered) {
      const woken = await waitLocally(write.engine, bounds, (wake) => {
        work.then(wake, wake);
        return write.watch(wake);
      });
      if (this.#writeGivenBack()) return "given-back";
      if (!woken) throw this.#noAnswer(write.engine.runtime.nowMs() - startedMs);
    }
    return await work;
  }

  /** No other client can be in the way of a read beside its own write, so a limit that passes is an outage. */
  #noAnswer(passedMs: Millis): BackendError {
    const { engine } = this.#write;
    const { backend, options } = engine;
    const { connectTimeoutMs } = options;
    const spec = { ...this.#identity(), permits: 1, options: this.#options, throws: true };
    return noAnswer(
      { specs: [spec], backend },
      { passedMs, connectTimeoutMs, guarded: false, cause: undefined },
    );
  }

  /** Throws the write's error when it is lost. */
  #writeGivenBack(): boolean {
    const { state } = this.#write;
    if (state === "lost") throw this.#write.lossError();
    return state === "released";
  }

  async #request(): Promise<Grant> {
    const write = this.#write;
    const { driver } = write.engine;
    const { leaseMs, label, revocable } = this.#options;
    try {
      return await this.#typed(
        async () => (await driver.downgrade?.(write.grant, { leaseMs, label, revocable })) as Grant,
      );
    } catch (error) {
      if (!(error instanceof LockLostError) || write.givenBack) throw error;
      // The backend says so before anybody has told the write.
      write.lose(error.reason);
      throw write.lossError();
    }
  }

  /** What the backend rejects with, as ours. The abort reasons of callers never come through here. */
  async #typed<T>(work: () => Promise<T>): Promise<T> {
    const { engine, name } = this.#write;
    try {
      return await work();
    } catch (error) {
      throw engine.typed(error, name);
    }
  }

  /** A read that nobody waits for any more, or that never came. */
  #giveBack(asked: Promise<Grant>): void {
    const { engine, name } = this.#write;
    const done = asked.then(
      (grant) => grant.release(),
      () => false,
    );
    engine.rememberPendingRelease(name, done);
    engine.trackCleaning(done.catch((error) => this.#report.cleanUpFailed(error)));
  }

  /** By the same policy as any acquire: transport errors only, and never after having asked just once. */
  async #mayAskAgain(error: unknown, elapsedMs: number): Promise<boolean> {
    const write = this.#write;
    const { engine } = write;
    const transport = error instanceof BackendError || error instanceof QuorumError;
    if (!transport || !error.retryable || this.#options.waitMs === 0) return false;
    const delayMs = engine.options.retry.next(++this.#attempt, elapsedMs, error);
    if (delayMs === null) return false;
    const untilMs = engine.runtime.nowMs() + delayMs;
    const { signal, deadlineMs } = this.#bounds;
    if (untilMs >= deadlineMs) return false;
    await waitLocally(engine, { signal, deadlineMs: untilMs }, (wake) => write.watch(wake));
    return true;
  }

  #identity(): Pick<Hold, "kind" | "name" | "mode" | "owner"> {
    const { kind, name, owner } = this.#write;
    return { kind, name, mode: "shared", owner };
  }

  /** The caller never held the read: its end is not the loss of anything. */
  #goneAlready(read: Hold): HoldfastError {
    const { name, engine } = this.#write;
    const { lossReason } = read;
    const details = { lockName: name, backend: engine.backend };
    if (lossReason === read.missingReason || lossReason === "stolen") {
      return new EvictedError(`the read of "${name}" was deleted by somebody as it was granted`, details);
    }
    return new BackendError(`the read of "${name}" was over before it could be delivered`, details);
  }
}
