import { answerReader, nothingMore, Reply } from "../script.js";

/**
 * What is at the lock's key or its token's key, when it is not a lock of this kind: a Redis type, another kind of lock, or
 * `token`.
 */
export interface Conflict {
  readonly status: "conflict";
  readonly serverMs: number;
  readonly found: string;
}

export interface Granted {
  readonly status: "granted";
  readonly serverMs: number;
  readonly token: bigint;
  /** Read in the script. For an earlier grant: the time that is left of it. `Infinity`: the whole lease that was asked for. */
  readonly pttlMs: number;
  /** The previous value of the token key; only present if it was asked for and the lock was free. */
  readonly before?: bigint;
}

/** Another owner holds the lock or is in front. */
interface Refused {
  readonly serverMs: number;
  /** PTTL of the present hold: -2 when free. -1 when it never expires, or when an acquire appended its owner behind others. */
  readonly holderPttlMs: number;
  /** `""` when free, when readers hold, or when an acquire appended its owner behind others. */
  readonly holder: string;
  /** The token key's value. It invalidates every earlier message whose token is not above it. */
  readonly lastToken: bigint;
}

/** Refused and not queued. */
export interface Busy extends Refused {
  readonly status: "busy";
}

export interface Queued extends Refused {
  readonly status: "queued";
  /** 0 is next; `farPlace` stands for that place or any place behind it. */
  readonly position: number;
  /** Appended by this call. If the call is a heartbeat, the place had been lost. */
  readonly appended: boolean;
}

/** The request reached the server after its `notAfter`, and nothing was done. */
export interface Late {
  readonly status: "late";
  readonly serverMs: number;
}

export type StandAnswer = Granted | Queued | Busy | Late | Conflict;

/** What is at a key that is not a lock of the kind. */
export const conflictPart = (reply: Reply): { readonly found: string } => ({ found: reply.text() });

export const refusedPart = (reply: Reply): Omit<Refused, "serverMs"> => ({
  holderPttlMs: reply.integer(),
  holder: reply.text(),
  lastToken: reply.token(),
});

export function standReader(script: string): (raw: unknown) => StandAnswer {
  return answerReader<StandAnswer>(script, {
    granted: (reply) => ({
      token: reply.token(),
      pttlMs: reply.integer(),
      ...(reply.more && { before: reply.token() }),
    }),
    late: nothingMore,
    conflict: conflictPart,
    busy: refusedPart,
    queued: (reply) => ({ ...refusedPart(reply), position: reply.integer(), appended: reply.flag() }),
  });
}

/** Whether the whole answer is a server time in microseconds. */
const isTimeAlone = (raw: unknown): raw is number =>
  typeof raw === "number" && Number.isSafeInteger(raw) && raw > 1;

/** Like `standReader`, for an acquire, whose most frequent answers are only numbers: see `takeFree`, and `short` of `stand`. */
export function acquireReader(script: string): (raw: unknown) => StandAnswer {
  const read = standReader(script);
  return (raw) => {
    if (isTimeAlone(raw)) {
      return { status: "granted", serverMs: raw / 1000, token: BigInt(raw), pttlMs: Infinity };
    }
    return Array.isArray(raw) && typeof raw[0] === "number" ? readBehind(script, raw) : read(raw);
  };
}

function readBehind(script: string, raw: unknown): Queued {
  const reply = new Reply(script, raw);
  const serverMs = reply.serverMs();
  const lastToken = BigInt(reply.integer());
  const position = reply.integer();
  return reply.end({
    status: "queued",
    serverMs,
    holderPttlMs: -1,
    holder: "",
    lastToken,
    position,
    appended: true,
  });
}

/** A hold of ours ended. */
export interface Passed {
  /** `handed`: our first live waiter holds now. `freed`: the lock has no holder. */
  readonly status: "handed" | "freed";
  /** 0 where the script did not read the clock. */
  readonly serverMs: number;
  /** The first error of publishing, `""` for none. After an error waiters notice the change only by their heartbeats. */
  readonly publishError: string;
}

/** The lock does not name this owner: the hold was ended before, has expired, or was ended by an earlier copy of this request. */
export interface Gone {
  readonly status: "gone";
  readonly serverMs: number;
}

export function readPassed(reply: Reply, status: "handed" | "freed", serverMs: number): Passed {
  return reply.end({ status, serverMs, publishError: reply.text() });
}

/** Reads the answer of `passOn` when it is a time alone; `null` when it is a list. */
export function readHanded(raw: unknown): Passed | null {
  return isTimeAlone(raw) ? { status: "handed", serverMs: raw / 1000, publishError: "" } : null;
}
