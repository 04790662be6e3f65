import { Reply } from "../script.js";

/** What is at the lock's key, or its token's, when it is no lock of this kind: a Redis type, another kind of lock, or `token`. */
export interface Conflict {
  readonly status: "conflict";
  readonly serverMs: number;
  readonly found: string;
}

export interface Granted {
  readonly status: "granted";
  readonly serverMs: number;
  readonly token: bigint;
  /** Read in the script: of a grant that was there before, what is left of it. */
  readonly pttlMs: number;
}

/** Somebody else holds or stands in front. */
interface Refused {
  readonly serverMs: number;
  /** Of the present hold: -2 when free, -1 when it never expires. */
  readonly holderPttlMs: number;
  /** `""` when free, or when readers hold. */
  readonly holder: string;
  /** The token key's value: it voids every earlier message with a token that is not above it. */
  readonly lastToken: bigint;
}

/** Not queued. */
export interface Busy extends Refused {
  readonly status: "busy";
}

export interface Queued extends Refused {
  readonly status: "queued";
  /** 0 is next. */
  readonly position: number;
  /** Appended by this very call: of a heartbeat, the place had been lost. */
  readonly appended: boolean;
}

/** The request came to the server after its `notAfter`; nothing was done. */
export interface Late {
  readonly status: "late";
  readonly serverMs: number;
}

export type StandAnswer = Granted | Queued | Busy | Late | Conflict;

export function readStand(script: string, raw: unknown): StandAnswer {
  const reply = new Reply(script, raw);
  const status = reply.text();
  const serverMs = reply.serverMs();
  switch (status) {
    case "granted":
      return reply.end({ status, serverMs, token: reply.token(), pttlMs: reply.integer() });
    case "late":
      return reply.end({ status, serverMs });
    case "conflict":
      return reply.end({ status, serverMs, found: reply.text() });
    case "busy":
    case "queued": {
      const refused = {
        serverMs,
        holderPttlMs: reply.integer(),
        holder: reply.text(),
        lastToken: reply.token(),
      };
      if (status === "busy") return reply.end({ status, ...refused });
      return reply.end({ status, ...refused, position: reply.integer(), appended: reply.flag() });
    }
    default:
      throw reply.unknownStatus(status);
  }
}

/** A hold of ours ended. */
export interface Passed {
  /** `handed`: `next` holds now. `freed`: nobody does; `next` is our first waiter, `""` where there is none. */
  readonly status: "handed" | "freed";
  readonly serverMs: number;
  readonly next: string;
  /** The first error in publishing, `""` for none: then waiters learn of it by their heartbeat only. */
  readonly publishError: string;
}

/** The lock does not name this owner: ended before, expired, or ended by an earlier copy of this request. */
export interface Gone {
  readonly status: "gone";
  readonly serverMs: number;
}

export function readPassed(reply: Reply, status: "handed" | "freed", serverMs: number): Passed {
  return reply.end({ status, serverMs, next: reply.text(), publishError: reply.text() });
}
