import type { LockMode } from "@holdfast/core";
import type { WebLockOptions } from "./api.js";

export interface Asked {
  readonly name: string;
  readonly mode: LockMode;
  readonly ifAvailable: boolean;
  readonly steal: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Checks the arguments of a request in the standard's order, with the standard's errors. */
export function readArguments(name: unknown, options: WebLockOptions, callback: unknown): Asked {
  const asked: Asked = {
    name: String(name),
    mode: readMode(options.mode),
    ifAvailable: Boolean(options.ifAvailable),
    steal: Boolean(options.steal),
    signal: readSignal(options.signal),
  };
  if (typeof callback !== "function") throw new TypeError("request: the callback is no function");
  if (asked.name.startsWith("-"))
    throw notSupported(`request: a name must not begin with "-": ${asked.name}`);
  if (asked.steal && asked.ifAvailable) throw notSupported("request: steal excludes ifAvailable");
  if (asked.steal && asked.mode !== "exclusive")
    throw notSupported("request: steal needs the mode exclusive");
  if (asked.signal !== undefined && (asked.steal || asked.ifAvailable))
    throw notSupported("request: a signal excludes steal and ifAvailable");
  asked.signal?.throwIfAborted();
  return asked;
}

function readMode(mode: unknown): LockMode {
  if (mode === undefined) return "exclusive";
  const word = String(mode);
  if (word === "exclusive" || word === "shared") return word;
  throw new TypeError(`request: the mode is exclusive or shared; got ${word}`);
}

function readSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw new TypeError("request: the signal is no AbortSignal");
}

function notSupported(message: string): DOMException {
  return new DOMException(message, "NotSupportedError");
}
