/** Keys or arguments that never change between the calls for one lock, so that they are encoded once. */
export class SameWords<W extends string | number = string | number> extends Array<W> {
  /**
   * The words as last encoded, and for which run id: see `Script.runIdAt`. A `WeakMap` instead would take 300 ms to grow to
   * 100,000 locks.
   */
  encoded: { readonly runId: string; readonly wire: string } | undefined;
}

/**
 * Arguments of one call, in order. An inner list holds arguments that are the same in each call for a lock, or in each call for a
 * request.
 */
export type ScriptArgs = readonly (string | number | readonly (string | number)[])[];

/** One of our Lua scripts, with the function that reads its answer. */
export interface Script<R> {
  /** Kebab-case; used in events, errors and counts of commands. */
  readonly name: string;
  readonly lua: string;
  /**
   * The number of keys of one call. For a batch script: the keys of one entry, and a call has that many for each of its entries.
   * The number that is sent with a call is always that of the keys given.
   */
  readonly keyCount: number;
  /**
   * The index, from 0, of the argument that is the run id of the server which runs the script. The connection fills it in where
   * it can vouch for it: see `NodeConnection.vouchedRunId`.
   */
  readonly runIdAt?: number;
  /** Throws `ReplyShapeError` for an answer that the script cannot give. */
  parse(raw: unknown): R;
}

/** A script that takes its arguments by name, and puts them in the order in which the Lua reads them. */
export interface CallScript<A, R> extends Script<R> {
  args(given: A): (string | number)[];
}

/** A script that does the same for many keys of one slot. The arguments of the call come first, then those of each entry. */
export interface BatchScript<C, E, R> extends Script<readonly R[]> {
  args(common: C, entries: readonly E[]): (string | number)[];
}

/** The answer does not have the script's shape: the digest belongs to another script, or a proxy rewrites answers. */
export class ReplyShapeError extends Error {
  constructor(script: string, what: string, raw: unknown) {
    super(`script ${script} answered ${what}: ${JSON.stringify(raw)?.slice(0, 200)}`);
    this.name = "ReplyShapeError";
  }
}

/** Reads one answer from left to right. Anything missing, left over or of another type is an error. */
export class Reply {
  readonly #script: string;
  readonly #raw: readonly unknown[];
  #next = 0;

  constructor(script: string, raw: unknown) {
    this.#script = script;
    if (!Array.isArray(raw)) throw new ReplyShapeError(script, "no array", raw);
    this.#raw = raw;
  }

  /** RESP3 clients can return text as buffers when asked to. Ours never ask, so the value must be a string. */
  text(): string {
    const value = this.#take();
    if (typeof value !== "string") throw this.#wrong("no text");
    return value;
  }

  integer(): number {
    const value = this.#take();
    if (typeof value !== "number" || !Number.isSafeInteger(value)) throw this.#wrong("no whole number");
    return value;
  }

  flag(): boolean {
    return this.integer() === 1;
  }

  /** A fencing token. It is decimal text, since it may be near 2^53. */
  token(): bigint {
    const value = this.text();
    if (!/^\d{1,16}$/.test(value)) throw this.#wrong("no token");
    return BigInt(value);
  }

  /** The server time in ms, which is sent in microseconds. */
  serverMs(): number {
    return this.integer() / 1000;
  }

  /** Whether anything is left to read. */
  get more(): boolean {
    return this.#next < this.#raw.length;
  }

  list(): readonly unknown[] {
    const value = this.#take();
    if (!Array.isArray(value)) throw this.#wrong("no list");
    return value;
  }

  texts(): readonly string[] {
    const value = this.list();
    if (!value.every((each) => typeof each === "string")) throw this.#wrong("no texts");
    return value as string[];
  }

  end<R>(value: R): R {
    if (this.#next !== this.#raw.length) throw this.#wrong("too much");
    return value;
  }

  unknownStatus(status: string): ReplyShapeError {
    return this.#wrong(`an unknown status ${JSON.stringify(status)}`);
  }

  #take(): unknown {
    if (this.#next >= this.#raw.length) throw this.#wrong("too little");
    return this.#raw[this.#next++];
  }

  #wrong(what: string): ReplyShapeError {
    return new ReplyShapeError(this.#script, `${what} at ${this.#next}`, this.#raw);
  }
}

type Parts<R extends { readonly status: string; readonly serverMs: number }> = {
  readonly [S in R["status"]]: (
    reply: Reply,
  ) => Omit<Extract<R, { readonly status: S }>, "status" | "serverMs">;
};

/**
 * Reads answers of the common form: a status, the server time, and the values of that status, which `parts` reads in the order of
 * the answer.
 */
export function answerReader<R extends { readonly status: string; readonly serverMs: number }>(
  script: string,
  parts: Parts<R>,
): (raw: unknown) => R {
  const readers = new Map(Object.entries(parts) as [string, (reply: Reply) => object][]);
  return (raw) => {
    const reply = new Reply(script, raw);
    const status = reply.text();
    const serverMs = reply.serverMs();
    const part = readers.get(status);
    if (part === undefined) throw reply.unknownStatus(status);
    return reply.end({ status, serverMs, ...part(reply) } as unknown as R);
  };
}

/** Reads the answers of batch scripts: one for each entry, with `read`. */
export function eachReader<R>(script: string, read: (raw: unknown) => R): (raw: unknown) => readonly R[] {
  return (raw) => {
    if (!Array.isArray(raw)) throw new ReplyShapeError(script, "no array", raw);
    return raw.map(read);
  };
}

/** For a status without further values. */
export const nothingMore = (): Record<never, never> => ({});

/** The server time after which a request does nothing, in the form that scripts read. */
export function notAfterUs(notAfterMs: number | null): number {
  return notAfterMs === null ? 0 : Math.floor(notAfterMs * 1000);
}
