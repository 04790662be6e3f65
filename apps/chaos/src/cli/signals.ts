import { constants } from "node:os";

export interface Interrupt {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** `null` before the first signal; then 128 plus the signal's number, as in a shell. */
  readonly exitCode: number | null;
  dispose(): void;
}

/**
 * Takes a run down in order at SIGINT (Ctrl-C), SIGTERM or SIGHUP. A second signal ends the process at once; the
 * processes that it started end with it all the same.
 */
export function onSignals(out: (line: string) => void): Interrupt {
  const controller = new AbortController();
  let exitCode: number | null = null;
  const heard = (signal: "SIGINT" | "SIGTERM" | "SIGHUP"): void => {
    const code = 128 + constants.signals[signal];
    if (exitCode !== null) process.exit(code);
    exitCode = code;
    out(`${signal}: taking everything down`);
    controller.abort(new Error(`interrupted by ${signal}`));
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, heard);
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode;
    },
    dispose: () => {
      for (const signal of signals) process.off(signal, heard);
    },
  };
}
