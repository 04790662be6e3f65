import {
  AcquireTimeoutError,
  BackendError,
  EvictedError,
  type LockHandle,
  type LockLostError,
  type LossReason,
  type Millis,
  ProviderClosedError,
} from "@holdfast/core";
import {
  type AcquireSpec,
  type AcquireSpecs,
  acquireKeys,
  claimAll,
  type GrantEngine,
  Handle,
  resolveAcquireOptions,
  settledWithin,
  whenCertain,
} from "@holdfast/core/internal";
import { type MultiAsk, optionsOf } from "./options.js";
import { giveBack, onPartLost, partLossError, signals, unlessAborted } from "./part-handle.js";
import { type Part, togetherFrom } from "./parts.js";

/**
 * Loss reasons of a part that is taken while others are waited for, after which it helps to ask again from the first part
 * on.
 */
const passing: ReadonlySet<LossReason> = new Set([
  "lease-expired",
  "lease-missing",
  "session-expired",
  "quorum-lost",
  "suspended",
]);

/**
 * Takes the parts one after the other, all within one `waitMs`. `Missing`: not all of them were granted in time, and nothing
 * is held. If a part is lost with its session or lease while others are waited for, all parts are asked for again.
 */
export async function gather(ask: MultiAsk): Promise<readonly LockHandle[] | Missing> {
  const { signal } = ask;
  signal?.throwIfAborted();
  let current: Round | undefined;
  const aborted = (): void => current?.stop(signal?.reason);
  if (signal !== undefined) signals.add(signal, aborted);
  try {
    for (;;) {
      current = new Round(ask);
      const taken = await current.run();
      if (taken !== "again") return taken;
      signal?.throwIfAborted();
    }
  } finally {
    if (signal !== undefined) signals.remove(signal, aborted);
  }
}

/** The first part, in the order of acquisition, that was not granted in time. */
export class Missing {
  readonly part: Part;
  constructor(part: Part) {
    this.part = part;
  }
}

/** One pass over the parts, from the first to the last, or to the first failure. */
class Round {
  readonly #ask: MultiAsk;
  readonly #held: LockHandle[] = [];
  readonly #stops: (() => void)[] = [];
  /** Ends the wait for the next part: by the caller's signal, or because a part that is held is lost. */
  readonly #wait = new AbortController();
  #lost: LockLostError | undefined;

  constructor(ask: MultiAsk) {
    this.#ask = ask;
  }

  stop(reason: unknown): void {
    this.#wait.abort(reason);
  }

  async run(): Promise<readonly LockHandle[] | Missing | "again"> {
    let failure: { readonly error: unknown } | undefined;
    let missing: Missing | undefined;
    try {
      missing = (await this.#takeAll()) ?? (await this.#makeCertain());
    } catch (error) {
      failure = { error };
    } finally {
      for (const stop of this.#stops) stop();
    }
    if (failure === undefined && missing === undefined) return this.#held;
    await this.#whileInTime(giveBack(this.#held));
    const lost = this.#lost;
    if (lost !== undefined && (failure === undefined || failure.error === lost)) {
      if (this.#ask.waitMs > 0 && passing.has(lost.reason)) return "again";
      throw lossWhileTaking(lost);
    }
    if (failure !== undefined) throw failure.error;
    return missing as Missing;
  }

  async #takeAll(): Promise<Missing | undefined> {
    const { parts, waitMs } = this.#ask;
    for (let i = 0; i < parts.length; ) {
      const count = togetherFrom(parts, i);
      if (count > 1) {
        const handles = await this.#takeTogether(parts.slice(i, i + count));
        if (handles !== null) {
          for (const handle of handles) this.#hold(handle);
          i += count;
          continue;
        }
        if (waitMs === 0) return new Missing(parts[i] as Part);
      }
      // Waits only for the first of these parts, without a place in the queues of the others.
      const handle = await this.#takeOne(parts[i] as Part);
      if (handle === null) return new Missing(parts[i] as Part);
      this.#hold(handle);
      i++;
    }
    return undefined;
  }

  /** Takes all these parts at once if they are free now; otherwise `null`, without waiting. */
  async #takeTogether(parts: readonly Part[]): Promise<readonly LockHandle[] | null> {
    const leftMs = this.#leftMs();
    if (leftMs === null) return null;
    const specs: AcquireSpec[] = [];
    for (const part of parts) {
      const { view } = part;
      if (view === undefined) return null;
      const given = { ...optionsOf(part, this.#ask), waitMs: leftMs, signal: this.#wait.signal };
      const spec = view.spec(resolveAcquireOptions("acquire", given, view.defaults, acquireKeys.view));
      if (spec === null) return null;
      specs.push({ ...spec, asksOnce: true });
    }
    const engine = parts[0]?.view?.engine as GrantEngine;
    return await claimAll(engine, specs as unknown as AcquireSpecs);
  }

  async #takeOne(part: Part): Promise<LockHandle | null> {
    const waitMs = this.#leftMs();
    if (waitMs === null) return null;
    const given = { ...optionsOf(part, this.#ask), waitMs, signal: this.#wait.signal };
    return await part.lock.tryAcquire(given);
  }

  /** What is left of `waitMs`; `null` when it is over; 0 only for a call that does not wait at all. */
  #leftMs(): Millis | null {
    const { runtime, startedMs, waitMs } = this.#ask;
    if (waitMs === 0) return 0;
    const leftMs = startedMs + waitMs - runtime.nowMs();
    return leftMs > 0 ? leftMs : null;
  }

  /**
   * Waits no longer than the limit and the signal of the call allow. A part whose server is silent is given back after the
   * call has ended.
   */
  async #whileInTime(givenBack: Promise<void>): Promise<void> {
    const { runtime, signal, waitMs } = this.#ask;
    const unhurried = unlessAborted(givenBack, signal);
    const leftMs = this.#leftMs();
    if (waitMs === 0 || leftMs === Infinity) await unhurried;
    else if (leftMs !== null) await settledWithin(runtime, unhurried, leftMs, { ref: true });
  }

  #hold(handle: LockHandle): void {
    this.#held.push(handle);
    this.#stops.push(onPartLost(handle, (error) => this.#partLost(error)));
  }

  #partLost(error: LockLostError): void {
    this.#lost ??= error;
    this.#wait.abort(this.#lost);
  }

  /**
   * Contact with the backend of an earlier part may have broken since. The caller gets the parts only when no hold is in
   * doubt.
   */
  async #makeCertain(): Promise<Missing | undefined> {
    const { parts } = this.#ask;
    for (;;) {
      for (const handle of this.#held) if (handle.state === "lost") this.#partLost(partLossError(handle));
      if (this.#lost !== undefined) throw this.#lost;
      const doubtful = this.#held.findIndex((handle) => handle.state !== "held");
      if (doubtful === -1) return undefined;
      if (!(await this.#certain(this.#held[doubtful] as LockHandle)))
        return new Missing(parts[doubtful] as Part);
    }
  }

  async #certain(handle: LockHandle): Promise<boolean> {
    const { runtime, startedMs, waitMs } = this.#ask;
    const { signal } = this.#wait;
    if (!(handle instanceof Handle)) return await this.#confirmed(handle);
    const hold = Handle.holdOf(handle);
    const leftMs = waitMs === 0 ? hold.engine.options.connectTimeoutMs : startedMs + waitMs - runtime.nowMs();
    const deadlineMs = hold.engine.runtime.nowMs() + leftMs;
    return (await whenCertain(hold, { deadlineMs, signal }, () => true)) === true;
  }

  /**
   * Confirms a part whose handle is not core's, within the limit of the call. For a call that asks once, the limits of that
   * part count.
   */
  async #confirmed(handle: LockHandle): Promise<boolean> {
    const { signal } = this.#wait;
    const asked = handle.confirm({ signal }).then(() => true);
    const answered = asked.then(
      () => {},
      () => {},
    );
    const certain = await Promise.race([asked, this.#whileInTime(answered).then(() => false)]);
    signal.throwIfAborted();
    if (!certain) this.#wait.abort();
    return certain;
  }
}

/**
 * The error for a part that is lost while others are taken. The caller never held it, so the loss ends an acquire and no
 * hold.
 */
function lossWhileTaking(lost: LockLostError): Error {
  const { lockName, backend } = lost;
  const details = { lockName, backend, cause: lost };
  const what = `the lock "${lockName}" was taken, and`;
  if (lost.reason === "stolen") {
    return new EvictedError(
      `${what} deleted by another client or an operator while the others were waited for`,
      details,
    );
  }
  if (lost.reason === "provider-closed") {
    return new ProviderClosedError(
      `${what} its provider was closed while the others were waited for`,
      details,
    );
  }
  return new BackendError(`${what} lost again before all were there: ${lost.reason}`, details);
}

/** The error with which `acquire` rejects when a part was not granted in time. */
export function timeoutError(ask: MultiAsk, { part }: Missing): AcquireTimeoutError {
  const { runtime, startedMs, waitMs, parts } = ask;
  const name = part.name ?? "without a name";
  const of = parts.length === 1 ? "" : `, the first missing of the ${parts.length} of a multi-lock`;
  return new AcquireTimeoutError(`the lock "${name}"${of}, was not granted within waitMs = ${waitMs}`, {
    waitedMs: runtime.nowMs() - startedMs,
    lockName: part.name,
    backend: part.view?.engine.backend,
  });
}
