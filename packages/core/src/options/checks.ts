import { InvalidArgumentError } from "../api/errors.js";
import { meantByHabit } from "./habits.js";
import { nearest } from "./nearest.js";

/** A value as messages show it: short, and so that types can be told apart (`"5"` from `5`). */
export function show(value: unknown): string {
  if (typeof value === "string")
    return value.length > 60 ? `"${value.slice(0, 57)}..."` : JSON.stringify(value);
  if (typeof value === "number" || typeof value === "boolean" || value === null || value === undefined)
    return String(value);
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return `an object (${value.constructor?.name ?? "no prototype"})`;
  return `a ${typeof value}`;
}

export interface MillisRange {
  readonly minimumMs: number;
  readonly infinite: boolean;
}

export function checkMillis(what: string, value: unknown, range: MillisRange): void {
  if (value === undefined) return;
  const fits =
    typeof value === "number" && value >= range.minimumMs && (range.infinite || value !== Infinity);
  if (fits) return;
  const bounds = range.minimumMs === 0 ? "0 or more" : `${range.minimumMs} or more`;
  throw new InvalidArgumentError(
    `${what} must be a number of milliseconds, ${bounds}${range.infinite ? " or Infinity" : " and finite"}; got ${show(value)}`,
  );
}

export function checkBoolean(what: string, value: unknown): void {
  if (value === undefined || typeof value === "boolean") return;
  throw new InvalidArgumentError(`${what} must be true or false; got ${show(value)}`);
}

export function checkChoice(what: string, value: unknown, choices: readonly string[]): void {
  if (value === undefined || choices.includes(value as string)) return;
  throw new InvalidArgumentError(`${what} must be "${choices.join('" or "')}"; got ${show(value)}`);
}

/** The message of an error, whatever was thrown. Its message need not be a text, and not everything can be made one. */
export function messageOf(error: unknown): string {
  return textOf(() => (error instanceof Error ? error.message : error));
}

/** The stack of an error, or its message, whatever was thrown. */
export function stackOf(error: unknown): string {
  return textOf(() => (error instanceof Error ? (error.stack ?? error.message) : error));
}

function textOf(value: () => unknown): string {
  try {
    return String(value());
  } catch {
    return "an error without a text";
  }
}

export function checkString(what: string, value: unknown): void {
  if (value === undefined || typeof value === "string") return;
  throw new InvalidArgumentError(`${what} must be a string; got ${show(value)}`);
}

/** Accepts any object that behaves like a signal, because it may come from another realm or from a polyfill. */
export function checkSignal(what: string, value: unknown): void {
  if (value === undefined) return;
  const signal = value as Partial<AbortSignal> | null;
  if (typeof signal === "object" && signal !== null && typeof signal.aborted === "boolean") {
    if (typeof signal.addEventListener === "function") return;
  }
  const hint = value instanceof AbortController ? "; pass its .signal" : "";
  throw new InvalidArgumentError(`${what} must be an AbortSignal; got ${show(value)}${hint}`);
}

export function checkObject(what: string, value: unknown): void {
  if (value === undefined || (typeof value === "object" && value !== null && !Array.isArray(value))) return;
  throw new InvalidArgumentError(`${what} must be an object; got ${show(value)}`);
}

export function checkCount(what: string, value: unknown): void {
  if (value === undefined || (Number.isInteger(value) && (value as number) >= 0)) return;
  throw new InvalidArgumentError(`${what} must be a whole number, 0 or more; got ${show(value)}`);
}

export function checkMethods(what: string, value: unknown, methods: readonly string[]): void {
  if (value === undefined) return;
  const missing = methods.find(
    (method) => typeof (value as Record<string, unknown> | null)?.[method] !== "function",
  );
  if (missing === undefined) return;
  throw new InvalidArgumentError(
    `${what} must be an object with the method ${missing}(); got ${show(value)}`,
  );
}

/** Checks the options of a call: they are `undefined`, or an object with no keys other than `known`. */
export function checkOptions(what: string, options: unknown, known: ReadonlySet<string>): void {
  if (options === undefined) return;
  checkObject(`${what}: options`, options);
  checkKnownKeys(what, options as object, known);
}

const signalAlone: ReadonlySet<string> = new Set(["signal"]);

/** Checks the options of a call that takes a `signal` and nothing else. */
export function checkSignalAlone(what: string, options: { readonly signal?: unknown } | undefined): void {
  checkOptions(what, options, signalAlone);
  checkSignal(`${what}: signal`, options?.signal);
}

/**
 * Refuses an unknown option, and names the one that was probably meant. If it were ignored, the mistake would show only
 * at the worst moment.
 */
export function checkKnownKeys(what: string, options: object, known: ReadonlySet<string>): void {
  for (const key in options) {
    if (known.has(key)) continue;
    const meant = meantByHabit(key, known) ?? nearest(key, known);
    const all = [...known].sort().join(", ");
    throw new InvalidArgumentError(
      `${what} does not know the option ${show(key)}${meant === null ? "." : `; did you mean ${meant}?`} Known: ${all}`,
    );
  }
}
