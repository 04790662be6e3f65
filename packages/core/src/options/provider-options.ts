import type { ProviderOptions } from "../api/provider.js";
import { fullJitterRetry, guardedRetry } from "../retry.js";
import { systemRuntime } from "../runtime.js";
import { checkBoolean, checkKnownKeys, checkMethods, checkMillis, checkObject } from "./checks.js";

export type ResolvedProviderOptions = Readonly<Required<ProviderOptions>>;

const commonKeys = [
  "connectTimeoutMs",
  "releaseTimeoutMs",
  "defaultWaitMs",
  "identity",
  "detectDeadlocks",
  "retry",
  "runtime",
] as const satisfies readonly (keyof ProviderOptions)[];

/**
 * Fills in the defaults of the options every factory takes. Throws `InvalidArgumentError` at once for a key that is
 * neither one of these nor in `extraKnownKeys`, and for values of a wrong type or range. The factory checks its own keys.
 */
export function resolveProviderOptions(
  factoryName: string,
  options: ProviderOptions | undefined,
  extraKnownKeys: readonly string[] = [],
): ResolvedProviderOptions {
  checkObject(`${factoryName}: options`, options);
  const given = options ?? {};
  checkKnownKeys(factoryName, given, new Set([...commonKeys, ...extraKnownKeys]));
  const of = (key: string) => `${factoryName}: ${key}`;
  checkMillis(of("connectTimeoutMs"), given.connectTimeoutMs, { minimumMs: 1, infinite: false });
  checkMillis(of("releaseTimeoutMs"), given.releaseTimeoutMs, { minimumMs: 1, infinite: false });
  checkMillis(of("defaultWaitMs"), given.defaultWaitMs, { minimumMs: 0, infinite: true });
  checkBoolean(of("identity"), given.identity);
  checkBoolean(of("detectDeadlocks"), given.detectDeadlocks);
  checkMethods(of("retry"), given.retry, ["next"]);
  checkMethods(of("runtime"), given.runtime, ["nowMs", "wallMs", "random", "randomId", "setTimer"]);
  const runtime = given.runtime ?? systemRuntime;
  return {
    connectTimeoutMs: given.connectTimeoutMs ?? 10_000,
    releaseTimeoutMs: given.releaseTimeoutMs ?? 5_000,
    defaultWaitMs: given.defaultWaitMs ?? Infinity,
    identity: given.identity ?? false,
    detectDeadlocks: given.detectDeadlocks ?? false,
    retry:
      given.retry === undefined
        ? fullJitterRetry({ random: () => runtime.random() })
        : guardedRetry(factoryName, given.retry),
    runtime,
  };
}
