import type { OpName } from "@holdfast/zk-protocol";
import { Flights } from "./flights.js";
import type { TraceEntry } from "./trace.js";

/** What a proxy has counted since it was started or reset. */
export interface Counts {
  /** Requests, without handshakes and without the ignored ones. */
  requests: number;
  /**
   * Flights of all connections together. A request opens a new flight if no counted request of its connection is
   * outstanding, or if an answer to one has been passed on since the last flight of the connection was opened, since
   * then it may depend on that answer. All other requests belong to the flight that is open. So the number is at
   * least the number of round trips that the client waited for; it is more than that when a client goes on sending
   * independent requests while answers come in, never less.
   */
  flights: number;
  /** Watch events that came from the server. */
  events: number;
  /** Requests by operation: everything that was seen, also handshakes (`connect`) and what is ignored above. */
  byOp: Readonly<Record<string, number>>;
}

/** Which requests are no part of a budget: names of operations, or a function that says so. */
export type Ignored = readonly OpName[] | ((entry: TraceEntry) => boolean);

/** Counts requests and flights. */
export class Budget {
  #ignore: (entry: TraceEntry) => boolean;
  #flights = new Flights<TraceEntry>();
  #events = 0;
  #byOp: Record<string, number> = {};

  constructor(ignore: Ignored) {
    this.#ignore = toPredicate(ignore);
  }

  seen(entry: TraceEntry): void {
    if (entry.kind === "event") this.#events++;
    if (entry.kind !== "request") return;
    this.#byOp[entry.op] = (this.#byOp[entry.op] ?? 0) + 1;
    if (entry.op !== "connect" && !this.#ignore(entry)) this.#flights.left(entry);
  }

  /** An answer was passed on to the client. */
  answered(request: TraceEntry): void {
    this.#flights.answered(request);
  }

  get counts(): Counts {
    const { requests, flights } = this.#flights;
    return { requests, flights, events: this.#events, byOp: { ...this.#byOp } };
  }

  /** Starts again at zero. Requests that are under way are forgotten: their answers open no flight. */
  reset(ignore?: Ignored): void {
    if (ignore !== undefined) this.#ignore = toPredicate(ignore);
    this.#flights = new Flights();
    this.#events = 0;
    this.#byOp = {};
  }
}

function toPredicate(ignore: Ignored): (entry: TraceEntry) => boolean {
  if (typeof ignore === "function") return ignore;
  const names = new Set<string>(ignore);
  return (entry) => names.has(entry.op);
}
