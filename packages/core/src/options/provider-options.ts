import { InvalidArgumentError, UnsupportedError } from "../api/errors.js";
import type { ProviderOptions } from "../api/provider.js";
import type { FenceBy } from "../api/values.js";
import { fullJitterRetry, guardedRetry } from "../retry.js";
import { systemRuntime } from "../runtime.js";
import {
  checkBoolean,
  checkChoice,
  checkKnownKeys,
  checkMethods,
  checkMillis,
  checkObject,
  show,
} from "./checks.js";

export type ResolvedProviderOptions = Readonly<Required<ProviderOptions>>;

const commonKeys = [
  "connectTimeoutMs",
  "releaseTimeoutMs",
  "defaultWaitMs",
  "identity",
  "detectDeadlocks",
  "retry",
  "keepMs",
  "maxKeepMs",
  "maxKept",
  "keepAskMs",
  "fenceBy",
  "runtime",
] as const satisfies readonly (keyof ProviderOptions)[];

/**
 * Fills in the defaults of the options that every factory takes. Throws `InvalidArgumentError` at once for a key that is
 * neither one of these nor in `extraKnownKeys`, and for values of a wrong type or range. The factory checks its own keys.
 *
 * `keeps`: as `LockDriver.keeps`. Without it a `keepMs` above 0 is an `UnsupportedError`, because the caller would rely on
 * something that never happens.
 */
export function resolveProviderOptions(
  factoryName: string,
  options: ProviderOptions | undefined,
  extraKnownKeys: readonly string[] = [],
  { keeps = false }: { readonly keeps?: boolean } = {},
): ResolvedProviderOptions {
  checkNoAddress(factoryName, options, extraKnownKeys);
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
  checkMillis(of("keepMs"), given.keepMs, { minimumMs: 0, infinite: false });
  checkMillis(of("maxKeepMs"), given.maxKeepMs, { minimumMs: 0, infinite: false });
  checkMillis(of("keepAskMs"), given.keepAskMs, { minimumMs: 0, infinite: false });
  checkMaxKept(of("maxKept"), given.maxKept);
  checkFenceBy(of("fenceBy"), given.fenceBy);
  if (!keeps && (given.keepMs ?? 0) > 0) {
    throw new UnsupportedError(`${of("keepMs")} must be 0: this backend keeps no locks for their next owner`);
  }
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
    keepMs: given.keepMs ?? 0,
    maxKeepMs: given.maxKeepMs ?? 5_000,
    maxKept: given.maxKept ?? 1_000,
    keepAskMs: given.keepAskMs ?? 50,
    fenceBy: given.fenceBy ?? "token",
    runtime,
  };
}

/** Refuses an address that was given in place of the options. The message does not show it, because it may contain a password. */
function checkNoAddress(factoryName: string, options: unknown, known: readonly string[]): void {
  const ways = typeof options === "string" ? ["connect", "url"] : Array.isArray(options) ? ["nodes"] : [];
  const way = ways.find((each) => known.includes(each));
  if (way === undefined) return;
  const got = typeof options === "string" ? "a string" : "an array";
  throw new InvalidArgumentError(
    `${factoryName}: options must be an object; got ${got}, so write { ${way}: ... }`,
  );
}

function checkMaxKept(what: string, value: unknown): void {
  if (value === undefined || (Number.isInteger(value) && (value as number) >= 1)) return;
  throw new InvalidArgumentError(`${what} must be a whole number, 1 or more; got ${show(value)}`);
}

export function checkFenceBy(what: string, value: unknown): asserts value is FenceBy | undefined {
  checkChoice(what, value, ["token", "token-and-turn"]);
}
