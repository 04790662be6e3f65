import { type LockHandle, LockLostError } from "@holdfast/core";
import { type GrantEngine, Handle, SignalHub } from "@holdfast/core/internal";

/** Keeps one listener on each signal of the callers, however many calls wait for it. */
export const signals: SignalHub = new SignalHub();

/** Resolves with `work`, which never rejects, or as soon as the signal is aborted. */
export function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return work;
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const over = (): void => {
      signals.remove(signal, over);
      resolve();
    };
    signals.add(signal, over);
    void work.then(over);
  });
}

/**
 * Calls `listener` once when the part is lost before it is released. For a handle of core's it sends nothing to the backend.
 */
export function onPartLost(handle: LockHandle, listener: (error: LockLostError) => void): () => void {
  if (handle instanceof Handle) return handle.onLost(listener, { attend: false });
  const { lost } = handle;
  const aborted = (): void => listener(partLossError(handle));
  if (lost.aborted) aborted();
  else lost.addEventListener("abort", aborted, { once: true });
  return () => lost.removeEventListener("abort", aborted);
}

/** The error of a part that is lost, or whose release answered that it was lost. */
export function partLossError(handle: LockHandle): LockLostError {
  if (handle instanceof Handle) return Handle.holdOf(handle).lossError();
  const { reason } = handle.lost;
  if (reason instanceof LockLostError) return reason;
  const { name, token } = handle;
  return new LockLostError(`the lock "${name}" was lost`, {
    reason: "lease-missing",
    token,
    lockName: name,
    cause: reason,
  });
}

/** `undefined` for handles that are not core's. */
export function engineOf(handle: LockHandle): GrantEngine | undefined {
  return handle instanceof Handle ? Handle.holdOf(handle).engine : undefined;
}

/**
 * Releases parts that are not needed any more, the last one first. Never rejects: an event of its part reports a release
 * that fails. Where there is no contact, the release goes on in the background and is not waited for.
 */
export async function giveBack(handles: readonly LockHandle[]): Promise<void> {
  await Promise.all(
    [...handles].reverse().map(async (handle) => {
      const state = engineOf(handle)?.link.state ?? "connected";
      try {
        // A part that its provider kept would look held to every client that wants the whole.
        await handle.release({ keep: false, ...(state !== "connected" && { signal: AbortSignal.abort() }) });
      } catch {
        // The event `release-failed` reports it.
      }
    }),
  );
}
