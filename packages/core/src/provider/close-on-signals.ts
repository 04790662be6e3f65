import { InvalidArgumentError } from "../api/errors.js";
import type { LockProvider } from "../api/provider.js";
import type { Millis } from "../api/values.js";
import { checkKnownKeys, checkMethods, checkMillis, checkObject, show } from "../options/checks.js";

/** The signals that `closeOnSignals()` knows. */
export type ClosingSignal = "SIGTERM" | "SIGINT" | "SIGHUP";

/** When `closeOnSignals()` closes, and how long that may take. */
export interface CloseOnSignalsOptions {
  /** Default SIGTERM and SIGINT. */
  signals?: readonly ClosingSignal[];
  /** Milliseconds for which the present holders may go on, see `CloseOptions`. Default 0. */
  graceMs?: Millis;
}

const optionKeys: ReadonlySet<string> = new Set(["signals", "graceMs"]);
const knownSignals: ReadonlySet<unknown> = new Set(["SIGTERM", "SIGINT", "SIGHUP"]);

/** Providers that close because of a signal. The signal is raised again when the last of them has closed. */
const closing = new Set<object>();

/**
 * Calls `close({ graceMs })` on the first of the signals, and then raises that signal again. The process ends by it as it
 * would have without this function, unless other code handles the signal too. A second signal meanwhile ends the process at
 * once. Disposing the result removes the handlers.
 *
 * Call it once for each provider: the signal is raised again when all of them have closed. Throws `InvalidArgumentError` at
 * once for an argument that is not a provider, and for wrong options.
 */
export function closeOnSignals(
  provider: LockProvider,
  options: readonly ClosingSignal[] | CloseOnSignalsOptions = {},
): Disposable {
  checkProvider(provider);
  const { signals, graceMs } = resolve(options);
  const undo = (): void => {
    for (const signal of signals) process.off(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    // A second signal while we close finds no handler of ours and ends the process at once.
    undo();
    const keepAlive = setInterval(() => {}, 1_000);
    closing.add(undo);
    provider
      .close({ graceMs })
      .catch((error) =>
        process.emitWarning(`close() failed on ${signal}: ${error}`, { type: "HoldfastWarning" }),
      )
      .finally(() => {
        clearInterval(keepAlive);
        closing.delete(undo);
        if (closing.size > 0) return;
        // Code that ends with the provider, such as a `lead()`, gets a turn of the event loop before the process ends.
        setImmediate(() => process.kill(process.pid, signal));
      });
  };
  for (const signal of signals) process.on(signal, onSignal);
  return { [Symbol.dispose]: undo };
}

function checkProvider(provider: unknown): void {
  const what = "closeOnSignals: provider";
  if (Array.isArray(provider)) {
    throw new InvalidArgumentError(`${what} must be one provider; got an array: call it for each of them`);
  }
  if (provider === undefined) throw new InvalidArgumentError(`${what} must be given`);
  checkMethods(what, provider, ["close", "holds"]);
}

function resolve(options: readonly ClosingSignal[] | CloseOnSignalsOptions): Required<CloseOnSignalsOptions> {
  const given = (Array.isArray(options) ? { signals: options } : options) as CloseOnSignalsOptions;
  checkObject("closeOnSignals: options", given);
  checkKnownKeys("closeOnSignals", given, optionKeys);
  const { signals = ["SIGTERM", "SIGINT"], graceMs = 0 } = given;
  checkMillis("closeOnSignals: graceMs", graceMs, { minimumMs: 0, infinite: false });
  if (!Array.isArray(signals) || signals.length === 0) {
    throw new InvalidArgumentError(
      `closeOnSignals: signals must be an array of one signal or more; got ${show(signals)}`,
    );
  }
  for (const signal of signals) {
    if (knownSignals.has(signal)) continue;
    throw new InvalidArgumentError(
      `closeOnSignals: a signal must be one of ${[...knownSignals].join(", ")}; got ${show(signal)}`,
    );
  }
  return { signals, graceMs };
}
