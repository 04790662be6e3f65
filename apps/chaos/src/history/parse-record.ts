import { HistoryError } from "./history-error.js";
import type { HistoryRecord } from "./record.js";

type Fields = Record<string, unknown>;

const operations = new Set([
  "acquire",
  "try-acquire",
  "release",
  "downgrade",
  "resize",
  "count-down",
  "await",
  "write",
]);
const events = new Set(["lost", "uncertain", "recovered", "requeued", "extended"]);
const workerStates = new Set(["start", "exit", "killed", "paused", "resumed"]);
const kinds = new Set([
  "mutex",
  "reentrant",
  "fair",
  "read-write",
  "semaphore",
  "multi",
  "redlock",
  "latch",
  "naive",
]);
const decimal = /^\d{1,20}$/;

/**
 * Reads one line. Required fields are checked and unknown fields are kept, so that a history of a newer writer can be
 * judged. Throws `HistoryError` with the line and the reason.
 */
export function parseRecord(text: string, line: number): HistoryRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new HistoryError(line, `not JSON: ${(error as Error).message}`);
  }
  const reason = whatIsWrong(value);
  if (reason !== null) throw new HistoryError(line, reason);
  return value as HistoryRecord;
}

/** What is wrong with a value; `null` if it is a record. */
export function whatIsWrong(value: unknown): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "a record is an object";
  const fields = value as Fields;
  if (!natural(fields.i)) return "i must be an integer from 0";
  if (typeof fields.t !== "number" || !Number.isFinite(fields.t) || fields.t < 0) {
    return "t must be nanoseconds since the start of the run";
  }
  switch (fields.type) {
    case "meta":
      return wrongMeta(fields);
    case "invoke":
      return wrongOperation(fields) ?? wrongArguments(fields.arg);
    case "ok":
    case "fail":
    case "info":
      return wrongOperation(fields) ?? wrongReturn(fields.ret);
    case "event":
      if (!word(fields.p) || !word(fields.key)) return "an event needs p and key";
      return events.has(fields.f as string) ? null : `unknown event ${String(fields.f)}`;
    case "effect":
      return wrongEffect(fields);
    case "fault":
      if (!word(fields.f)) return "a fault needs its name f";
      return fields.phase === "begin" || fields.phase === "end" ? null : "phase must be begin or end";
    case "worker":
      if (!word(fields.p)) return "a worker record needs p";
      return workerStates.has(fields.f as string) ? null : `unknown state of a worker ${String(fields.f)}`;
    case "snapshot":
      return wrongSnapshot(fields);
    default:
      return `unknown type ${String(fields.type)}`;
  }
}

function wrongMeta(fields: Fields): string | null {
  if (fields.v !== 1) return `version ${String(fields.v)} of the format is not known, only 1`;
  if (!word(fields.run) || !word(fields.scenario)) return "meta needs run and scenario";
  if (typeof fields.seed !== "number") return "meta needs the seed";
  if (fields.members !== undefined && !natural(fields.members)) return "members must be an integer from 0";
  const keys = fields.keys as Record<string, Fields> | undefined;
  if (typeof keys !== "object" || keys === null) return "meta needs keys";
  for (const [key, about] of Object.entries(keys)) {
    if (!kinds.has(about.kind as string)) return `key ${key}: unknown kind ${String(about.kind)}`;
    if (!(typeof about.leaseMs === "number" && about.leaseMs > 0))
      return `key ${key}: leaseMs must be above 0`;
    if (about.kind === "semaphore" && !natural(about.limit)) return `key ${key}: a semaphore needs its limit`;
    if (about.kind === "latch" && !natural(about.count)) return `key ${key}: a latch needs its count`;
  }
  return null;
}

function wrongOperation(fields: Fields): string | null {
  if (!word(fields.p)) return "an operation needs p, the worker";
  if (!operations.has(fields.f as string)) return `unknown operation ${String(fields.f)}`;
  if (!word(fields.key)) return "an operation needs key";
  return natural(fields.op) ? null : "op must be an integer from 0";
}

function wrongArguments(given: unknown): string | null {
  if (given === undefined) return null;
  if (typeof given !== "object" || given === null) return "arg must be an object";
  const { mode, permits } = given as Fields;
  if (mode !== undefined && mode !== "read" && mode !== "write") return "mode must be read or write";
  return permits === undefined || natural(permits) ? null : "permits must be an integer from 0";
}

function wrongReturn(given: unknown): string | null {
  if (given === undefined) return null;
  if (typeof given !== "object" || given === null) return "ret must be an object";
  const { token } = given as Fields;
  return token === undefined || isToken(token) ? null : "a token is decimal text";
}

function wrongEffect(fields: Fields): string | null {
  if (!word(fields.key) || !word(fields.hold)) return "an effect needs key and hold";
  if (typeof fields.accepted !== "boolean") return "accepted must be true or false";
  return fields.token === undefined || isToken(fields.token) ? null : "a token is decimal text";
}

function wrongSnapshot(fields: Fields): string | null {
  if (!word(fields.key)) return "a snapshot needs key";
  const state = fields.state as Fields | undefined;
  if (typeof state !== "object" || state === null) return "a snapshot needs state";
  if (!Array.isArray(state.holders) || !Array.isArray(state.queue)) return "state needs holders and queue";
  return state.left === undefined || Array.isArray(state.left) ? null : "left must be a list";
}

const natural = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const word = (value: unknown): boolean => typeof value === "string" && value !== "";
const isToken = (value: unknown): boolean => typeof value === "string" && decimal.test(value);
