import type { LockProvider } from "../api/provider.js";

type Signal = "SIGTERM" | "SIGINT" | "SIGHUP";

/**
 * `close()` on the first of the signals (default SIGTERM and SIGINT), then re-raise it, so that the process ends by it
 * as it would have without us, unless somebody else handles it too. Disposing undoes it.
 */
export function closeOnSignals(
  provider: LockProvider,
  signals: readonly Signal[] = ["SIGTERM", "SIGINT"],
): Disposable {
  const undo = (): void => {
    for (const signal of signals) process.off(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    // A second signal while we close finds no handler of ours and ends the process at once.
    undo();
    const keepAlive = setInterval(() => {}, 1_000);
    provider
      .close()
      .catch((error) =>
        process.emitWarning(`close() failed on ${signal}: ${error}`, { type: "HoldfastWarning" }),
      )
      .finally(() => {
        clearInterval(keepAlive);
        process.kill(process.pid, signal);
      });
  };
  for (const signal of signals) process.on(signal, onSignal);
  return { [Symbol.dispose]: undo };
}
