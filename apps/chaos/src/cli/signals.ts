import { constants } from "node:os";

export interface Interrupt {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** `null` until then; 128 and the signal's number, as a shell has it. */
  readonly exitCode: number | null;
  dispose(): void;
}

/** Lets a run be taken down in order at Ctrl-C and SIGTERM. The second signal ends the process at once: what it started goes with it all the same. */
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
